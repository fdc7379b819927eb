// What an error tells: its kind from a closed list, whether to try again, and whether a write may have been done.
import { check } from 'k6';
import { connect } from 'k6/x/omnigraph';

export const options = {
  vus: 1,
  iterations: 1,
  thresholds: { 'omnigraph_errors{error_kind:unauthorized}': ['count==1'], 'omnigraph_errors{error_kind:bad_request}': ['count==2'] },
};

const og = connect(__ENV.OMNIGRAPH_URI, { graph: __ENV.OMNIGRAPH_GRAPH, token: __ENV.OMNIGRAPH_TOKEN });

export default function () {
  const denied = og.snapshot({ token: 'not-a-token' });
  check(denied, { unauthorized: (r) => !r.ok && r.error.kind === 'unauthorized' && r.status === 401 });

  const broken = og.query('query broken( {');
  check(broken, { 'bad request': (r) => r.error.kind === 'bad_request' && !r.error.retryable });

  try {
    og.query('query q($s: String) { match { $m: Memory { slug: $s } } return { $m.slug } }', {}, { throw: true });
  } catch (e) {
    check(e, { 'a missing parameter is found before anything is sent': (x) => x.kind === 'bad_request' && x.status === 0 });
  }
}
