// A first read: one query with a parameter, checked.
import { check, fail } from 'k6';
import { connect } from 'k6/x/omnigraph';

export const options = { vus: 2, iterations: 20, thresholds: { omnigraph_op_failed: ['rate==0'] } };

const og = connect(__ENV.OMNIGRAPH_URI, { graph: __ENV.OMNIGRAPH_GRAPH, token: __ENV.OMNIGRAPH_TOKEN });
const gq = 'query get_memory($slug: String) { match { $m: Memory { slug: $slug } } return { $m.slug, $m.title } }';

export default function () {
  const res = og.query(gq, { slug: 'mem-0001' });
  if (!res.ok) {
    fail(`the read failed: ${res.error.message}`);
  }
  check(res, {
    'one row': (r) => r.rowCount === 1,
    'the right one': (r) => r.rows[0]['m.slug'] === 'mem-0001',
  });
}
