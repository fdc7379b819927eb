// Several reads at once from one VU. The iteration ends when all promises are settled.
import { check } from 'k6';
import { connect } from 'k6/x/omnigraph';

export const options = { vus: 1, iterations: 5 };

const og = connect(__ENV.OMNIGRAPH_URI, { graph: __ENV.OMNIGRAPH_GRAPH, token: __ENV.OMNIGRAPH_TOKEN });
const slugs = ['mem-0001', 'mem-0002', 'mem-0003', 'mem-0004'];

export default async function () {
  const results = await Promise.all(slugs.map((slug) => og.asyncInvoke('get_memory', { slug })));
  check(results, { 'all found': (all) => all.every((r) => r.ok && r.rowCount === 1) });
}
