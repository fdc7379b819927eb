// For generators in the cloud itself, which run scripts without this extension: the same read through k6/http alone. There is
// no CLI, no comparison of transports and no record, and what is measured is http_req_duration.
//
//   k6 cloud run -e OMNIGRAPH_URI=https://… -e OMNIGRAPH_TOKEN=… deploy/cloud/http-only.js
//
// Environment: OMNIGRAPH_URI (reachable from the cloud), OMNIGRAPH_GRAPH, OMNIGRAPH_TOKEN, VUS, DURATION.
import { check } from 'k6';
import exec from 'k6/execution';
import http from 'k6/http';

export const options = {
  cloud: { name: 'omnigraph reads over HTTP' },
  scenarios: {
    reads: { executor: 'constant-vus', vus: Number(__ENV.VUS || 4), duration: __ENV.DURATION || '1m', gracefulStop: '30s' },
  },
  thresholds: { http_req_failed: ['rate<0.01'], http_req_duration: ['p(95)<1000'] },
};

const url = `${__ENV.OMNIGRAPH_URI}/graphs/${__ENV.OMNIGRAPH_GRAPH || 'council'}/query`;
const body = JSON.stringify({
  query: 'query get_memory($slug: String) { match { $m: Memory { slug: $slug } } return { $m.slug, $m.title } }',
  params: { slug: 'mem-0001' },
});
const params = {
  headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${__ENV.OMNIGRAPH_TOKEN}` },
  tags: { name: 'get_memory' },
};

export function setup() {
  if (!__ENV.OMNIGRAPH_URI) {
    exec.test.abort('OMNIGRAPH_URI is not set: say where the server is, as the cloud reaches it');
  }
}

export default function () {
  const res = http.post(url, body, params);
  check(res, { ok: (r) => r.status === 200, 'one row': (r) => r.status === 200 && r.json('row_count') === 1 });
}
