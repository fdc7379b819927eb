// Retries: what may be repeated is, with growing waits; a write whose outcome is unknown is left alone.
import { check } from 'k6';
import { connect } from 'k6/x/omnigraph';

export const options = {
  vus: 4,
  iterations: 12,
  thresholds: { omnigraph_op_failed: ['rate==0'] }, // after retries, none fails
};

const og = connect(__ENV.OMNIGRAPH_URI, {
  graph: __ENV.OMNIGRAPH_GRAPH,
  token: __ENV.OMNIGRAPH_TOKEN,
  retry: { maxAttempts: 20, maxElapsed: '60s', baseDelay: '20ms', kinds: ['conflict_stale', 'admission_capped', 'unavailable'] },
});

// All VUs update the same row, so that some meet a stale view (409) and have to try again.
export default function () {
  const res = og.invoke('set_importance', { slug: 'mem-0001', importance: __VU });
  check(res, { updated: (r) => r.ok && r.affectedNodes === 1 });
}
