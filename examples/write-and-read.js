// A write, and the read that proves it. Keys carry the VU's number in the whole test and its iteration, so that none is
// written twice, by however many processes.
import { check } from 'k6';
import exec from 'k6/execution';
import { connect } from 'k6/x/omnigraph';

export const options = { vus: 1, iterations: 5 };

const og = connect(__ENV.OMNIGRAPH_URI, { graph: __ENV.OMNIGRAPH_GRAPH, token: __ENV.OMNIGRAPH_TOKEN });
const add = 'query add($slug: String, $name: String) { insert Project { slug: $slug, name: $name } }';
const get = 'query get($slug: String) { match { $p: Project { slug: $slug } } return { $p.name } }';
const remove = 'query remove($slug: String) { delete Project where slug = $slug }';

export default function () {
  const slug = `example-${exec.vu.idInTest}-${exec.vu.iterationInInstance}`;
  const wrote = og.mutate(add, { slug, name: 'an example' });
  check(wrote, { written: (r) => r.ok && r.affectedNodes === 1 });
  if (!wrote.ok && wrote.error.indeterminate) {
    console.warn(`whether ${slug} was written is unknown: ${wrote.error.message}`);
  }
  check(og.query(get, { slug }), { 'read back': (r) => r.rowCount === 1 && r.rows[0]['p.name'] === 'an example' });
  check(og.mutate(remove, { slug }), { removed: (r) => r.affectedNodes === 1 });
}
