// A short run that feeds every panel: reads over both transports in pairs, a writer, an open model
// that drops iterations, mistakes, an address where nobody listens, and an optimize. What is optimized is a copy of the
// store (OPTIMIZED_STORE) that nobody writes: 0.8.0 may refuse all further writes to a table that it optimizes while another writes.
import { CLIClient, HTTPClient, compare } from 'k6/x/omnigraph';
import { sleep } from 'k6';
import exec from 'k6/execution';

const seconds = Number(__ENV.SECONDS || 12);
const writers = Number(__ENV.WRITERS || 1);
const during = (vus, exec) => ({ executor: 'constant-vus', vus, duration: `${seconds}s`, gracefulStop: '20s', exec });

export const options = {
  scenarios: {
    paired: during(2, 'paired'),
    ...(writers > 0 && { writers: during(writers, 'write') }),
    mistakes: during(1, 'mistake'),
    open: {
      executor: 'constant-arrival-rate', rate: 20, timeUnit: '1s', duration: `${seconds}s`, preAllocatedVUs: 1, maxVUs: 1,
      gracefulStop: '20s', exec: 'slow',
    },
    optimize: { executor: 'shared-iterations', vus: 1, iterations: 1, startTime: `${seconds / 2}s`, maxDuration: '60s', exec: 'optimize' },
  },
  summaryTrendStats: ['p(45)', 'p(55)', 'count'],
  thresholds: { 'omnigraph_op_duration{ok:true}': ['max>=0'] },
};

const where = { graph: __ENV.OMNIGRAPH_GRAPH, token: __ENV.OMNIGRAPH_TOKEN };
const http = new HTTPClient({ url: __ENV.OMNIGRAPH_URI, ...where, retry: { maxAttempts: 3, maxElapsed: '5s', baseDelay: '5ms', kinds: ['conflict_stale', 'connect'] } });
const cli = new CLIClient({ server: __ENV.OMNIGRAPH_URI, bin: __ENV.OMNIGRAPH_BIN, store: __ENV.OPTIMIZED_STORE, ...where, maxProcesses: 1 });
const nobody = new HTTPClient({ url: 'http://127.0.0.1:1', ...where, retry: { maxAttempts: 2, baseDelay: '10ms', kinds: ['connect'] } });
const gq = 'query get_memory($slug: String) { match { $m: Memory { slug: $slug } } return { $m.slug, $m.title } }';
const insert = `query add_memory($slug: String, $project: String) {
  insert Memory { slug: $slug, title: $slug, body: $slug, kind: "note", project: $project, importance: 1, created_at: now() }
}`;
const run = Date.now().toString(36);

export function paired() {
  const params = { slug: 'mem-0001' };
  compare({ cli: () => cli.query(gq, params), http: () => http.query(gq, params) });
  sleep(0.05);
}

export function write() {
  http.mutate(insert, { slug: `dash-${run}-${__VU}-${__ITER}`, project: 'load-test' });
  http.invoke('relate', { from: 'mem-0001', to: 'mem-0002' });
  http.invoke('set_importance', { slug: 'mem-0001', importance: __VU });
  sleep(0.1);
}

export function mistake() {
  http.query('query wrong() { match { $m: Nothing } return { $m } }');
  nobody.query(gq, { slug: 'mem-0001' });
  sleep(0.3);
}

export function slow() {
  http.query(gq, { slug: 'mem-0001' });
  sleep(0.2);
}

export function optimize() {
  let res = cli.optimize();
  for (let attempt = 1; !res.ok && attempt < 5; attempt += 1) {
    res = cli.optimize(); // the CLI of 0.8.0 crashes at it now and then
  }
  if (!res.ok) {
    exec.test.abort(`optimize failed: ${res.error.message}`);
  }
}
