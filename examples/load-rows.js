// Many rows in one commit: load takes row objects, NDJSON text, or the bytes of a file.
import { check } from 'k6';
import exec from 'k6/execution';
import { connect } from 'k6/x/omnigraph';

export const options = { vus: 1, iterations: 1 };

const og = connect(__ENV.OMNIGRAPH_URI, { graph: __ENV.OMNIGRAPH_GRAPH, token: __ENV.OMNIGRAPH_TOKEN });

export default function () {
  const rows = [];
  for (let i = 0; i < 200; i++) {
    rows.push({ type: 'Project', data: { slug: `bulk-${exec.vu.idInTest}-${i}`, name: `project ${i}` } });
  }
  const res = og.load(rows, { mode: 'merge' });
  check(res, { 'all loaded': (r) => r.ok && r.affectedNodes === 200 });
  check(og.commits(), { 'in one commit': (r) => r.rows[0].actorId !== null });
}
