// Counts: every operation over both transports shows in every metric exactly as often as it should.
import { check } from 'k6';
import exec from 'k6/execution';
import { CLIClient, HTTPClient, compare } from 'k6/x/omnigraph';

export const options = {
  scenarios: { count: { executor: 'per-vu-iterations', vus: 2, iterations: 3 } },
  thresholds: {
    checks: ['rate==1'],
    omnigraph_ops: ['count==26'], // 2 VUs x 3 iterations x (2 compared reads + 1 write + 1 failed read), and 2 in setup
    'omnigraph_ops{transport:http}': ['count==19'],
    'omnigraph_ops{transport:cli}': ['count==7'],
    'omnigraph_ops{variant:cli}': ['count==6'],
    'omnigraph_op_failed{op:query}': ['rate>0.33', 'rate<0.34'],
    'omnigraph_errors{error_kind:bad_request}': ['count==6'],
    'omnigraph_affected{entity:node}': ['count==6'],
    'omnigraph_rows{query:one}': ['count==12'],
    'omnigraph_op_duration{transport:cli}': ['min>0'],
    'omnigraph_cli_spawn': ['min>0'],
    'omnigraph_pair_overhead{pair:cli-http}': ['max>0'],
    'http_reqs{name:one}': ['count==6'],
    http_req_failed: ['rate<1'],
    dropped_iterations: ['count==0'],
  },
};

const http = new HTTPClient({ url: __ENV.OMNIGRAPH_URL, graph: __ENV.OMNIGRAPH_GRAPH, token: __ENV.OMNIGRAPH_TOKEN });
const cli = new CLIClient({ server: __ENV.OMNIGRAPH_URL, graph: __ENV.OMNIGRAPH_GRAPH, token: __ENV.OMNIGRAPH_TOKEN, bin: __ENV.OMNIGRAPH_BIN });
const one = 'query one($s: String) { match { $m: Memory { slug: $s } } return { $m.slug, $m.importance } }';

export function setup() {
  check(http.health(), { 'server is there': (r) => r.ok });
  check(cli.version(), { 'CLI is there': (r) => r.ok });
}

// `xk6 test` replaces the scenarios by one iteration of one VU, which makes all rounds then.
export default function () {
  const rounds = exec.scenario.name === 'count' ? 1 : 6;
  for (let round = 0; round < rounds; round += 1) {
    once(`exact-${__VU}-${__ITER}-${round}`);
  }
}

function once(slug) {
  const took = compare({
    cli: () => check(cli.query(one, { s: 'mem-0001' }), { 'one row over the CLI': (r) => r.ok && r.rowCount === 1 }),
    http: () => check(http.query(one, { s: 'mem-0001' }), { 'one row over HTTP': (r) => r.ok && r.rows[0]['m.slug'] === 'mem-0001' }),
  });
  check(took, { 'both took time': (t) => t.cli > 0 && t.http > 0 });
  check(http.mutate('query add($s: String) { insert Project { slug: $s, name: "exact" } }', { s: slug }), {
    'one node written': (r) => r.ok && r.affectedNodes === 1 && r.affectedEdges === 0,
  });
  check(http.query('query broken( {'), { 'a broken query is the query\'s fault': (r) => !r.ok && r.error.kind === 'bad_request' && r.status === 400 });
}
