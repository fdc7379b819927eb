// One pool of four connections for all VUs, as a service would have, instead of each VU's own.
import { connect } from 'k6/x/omnigraph';

export const options = {
  vus: 8,
  iterations: 200,
  thresholds: { omnigraph_op_failed: ['rate==0'], omnigraph_conn_reused: ['rate>0.9'] },
};

const og = connect(__ENV.OMNIGRAPH_URI, {
  graph: __ENV.OMNIGRAPH_GRAPH,
  token: __ENV.OMNIGRAPH_TOKEN,
  pool: 'shared',
  maxConnections: 4, // who waits for one shows in omnigraph_queued, not in omnigraph_attempt_duration
});

export default function () {
  og.invoke('get_memory', { slug: 'mem-0001' });
}
