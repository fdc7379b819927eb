// A run that leaves a record and a report: what it measured, on what, and what happened meanwhile.
import { check } from 'k6';
import { connect, record, report } from 'k6/x/omnigraph';

export const options = { vus: 2, iterations: 40 };

const og = connect(__ENV.OMNIGRAPH_URI, { graph: __ENV.OMNIGRAPH_GRAPH, token: __ENV.OMNIGRAPH_TOKEN });
const gq = 'query get_memory($slug: String) { match { $m: Memory { slug: $slug } } return { $m.slug, $m.title } }';

const rec = record({
  name: 'example',
  dataset: __ENV.OMNIGRAPH_DATASET,
  system: { backend: 'local disk', config: { cache: 'off' } },
  run: { state: { f1_fragmentation: 'as_found' }, workload: { operations: 'point_read', arrival: 'closed', clients: '2' } },
});

export function setup() {
  rec.before(og);
  const began = Date.now();
  const warm = og.query(gq, { slug: 'mem-0001' });
  rec.event('warm-up', 'the first read', Date.now() - began);
  check(warm, { 'the store answers': (r) => r.ok });
}

export default function () {
  check(og.query(gq, { slug: 'mem-0001' }), { ok: (r) => r.ok });
}

export function teardown() {
  rec.after(og);
}

export function handleSummary(data) {
  return report(data);
}
