// With Grafana Cloud k6 as the place where results go, and this machine as the one that makes the load:
//
//   k6 cloud run --local-execution deploy/cloud/local-execution.js
//
// The k6 has to be the one with this extension. Environment: OMNIGRAPH_URI, OMNIGRAPH_GRAPH, OMNIGRAPH_TOKEN, VUS, DURATION.
import { check } from 'k6';
import { HTTPClient } from 'k6/x/omnigraph';

export const options = {
  cloud: { name: 'omnigraph reads' },
  scenarios: {
    reads: { executor: 'constant-vus', vus: Number(__ENV.VUS || 4), duration: __ENV.DURATION || '1m', gracefulStop: '30s' },
  },
  thresholds: {
    'omnigraph_op_duration{ok:true}': ['p(95)<1000'],
    omnigraph_op_failed: ['rate<0.01'],
  },
};

const og = new HTTPClient({ url: __ENV.OMNIGRAPH_URI, graph: __ENV.OMNIGRAPH_GRAPH || 'council', token: __ENV.OMNIGRAPH_TOKEN });
const gq = 'query get_memory($slug: String) { match { $m: Memory { slug: $slug } } return { $m.slug, $m.title } }';

export default function () {
  check(og.query(gq, { slug: 'mem-0001' }), { ok: (r) => r.ok, 'one row': (r) => r.rowCount === 1 });
}
