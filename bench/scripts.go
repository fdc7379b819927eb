package main

// Both scripts do the same: they send the query with its parameter and look at the rows.

const moduleScript = `
import { HTTPClient } from 'k6/x/omnigraph';
export const options = { scenarios: { read: { executor: 'constant-vus', vus: Number(__ENV.VUS), duration: __ENV.SECONDS + 's' } } };
const og = new HTTPClient({ url: __ENV.ADDRESS, graph: 'council', token: 'bench-token' });
const gq = 'query get_memory($slug: String) { match { $m: Memory { slug: $slug } } return { $m.slug, $m.title, $m.importance } }';
const reads = Number(__ENV.READS);
export default function () {
  for (let i = 0; i < reads; i++) {
    const res = og.query(gq, { slug: 'mem-' + i });
    if (!res.ok || res.rows.length !== 3) { throw new Error('not three rows'); }
  }
}
export function handleSummary(data) {
  const m = data.metrics;
  return { [__ENV.SUMMARY]: JSON.stringify({ reads: m.http_reqs.values.count, failed: m.http_req_failed.values.passes, milliseconds: data.state.testRunDurationMs }) };
}
`

const httpScript = `
import http from 'k6/http';
export const options = { scenarios: { read: { executor: 'constant-vus', vus: Number(__ENV.VUS), duration: __ENV.SECONDS + 's' } } };
const gq = 'query get_memory($slug: String) { match { $m: Memory { slug: $slug } } return { $m.slug, $m.title, $m.importance } }';
const reads = Number(__ENV.READS);
const url = __ENV.ADDRESS + '/graphs/council/query';
const params = { headers: { 'Content-Type': 'application/json', Authorization: 'Bearer bench-token' }, tags: { name: 'get_memory' } };
export default function () {
  for (let i = 0; i < reads; i++) {
    const res = http.post(url, JSON.stringify({ query: gq, params: { slug: 'mem-' + i } }), params);
    const body = JSON.parse(res.body);
    if (res.status !== 200 || body.rows.length !== 3) { throw new Error('not three rows'); }
  }
}
export function handleSummary(data) {
  const m = data.metrics;
  return { [__ENV.SUMMARY]: JSON.stringify({ reads: m.http_reqs.values.count, failed: m.http_req_failed.values.passes, milliseconds: data.state.testRunDurationMs }) };
}
`
