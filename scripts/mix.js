// How does the server fare under a mix of reads and writes like ours?
//
// Six mixes like YCSB's, for this graph: a (half reads, half updates), b (95 % reads, 5 % updates), c (reads only), d (reads
// of the newest rows, 5 % inserts), e (short scans, 5 % inserts), f (half reads, half read-modify-writes), or weights of
// your own. Keys are chosen uniformly, by Zipf's law, or the newest first. Updates change rows that the run itself made.
//
//   bin/k6 x omnigraph rig run -- bin/k6 run scripts/mix.js
//   MIX=read:80,scan:15,insert:5 RATE=50 bin/k6 run scripts/mix.js
//
// Environment: MIX_PRESET or PRESET = short|full, WORKLOAD = a|b|c|d|e|f (default b, where nothing may be written c), MIX
// (weights of read, scan, update, insert, rmw), KEYS = uniform|zipf|latest, RATE (iterations a second: the open model) or
// VUS (the closed model, default 4), DURATION (such as 5m), MAX_VUS, ALLOW_WRITES=1, OMNIGRAPH_URI, OMNIGRAPH_GRAPH,
// OMNIGRAPH_TOKEN or (for several actors) OMNIGRAPH_TOKENS or OMNIGRAPH_TOKENS_FILE (not the rig's own), OMNIGRAPH_BIN,
// OMNIGRAPH_STORE, NOISE_FLOOR, RESULTS_DIR.
import { CLIClient, HTTPClient, record, report } from 'k6/x/omnigraph';
import { givenTokens } from './lib/actors.js';
import { choice, number, target } from './lib/target.js';
import { begin, compacted, compareOptions, described, leave, needKeys, optimizeNow, share, sized, tell } from './lib/scenario.js';
import { mixer, ownRows, parseMix, writes } from './lib/mix.js';

const presets = {
  short: { duration: '40s' },
  full: { duration: '5m' },
};
const workloads = {
  a: { mix: 'read:50,update:50', keys: 'zipf' },
  b: { mix: 'read:95,update:5', keys: 'zipf' },
  c: { mix: 'read:100', keys: 'zipf' },
  d: { mix: 'read:95,insert:5', keys: 'latest' },
  e: { mix: 'scan:95,insert:5', keys: 'zipf' },
  f: { mix: 'read:50,rmw:50', keys: 'zipf' },
};
const where = target(__ENV);
const chosen = sized(__ENV, 'MIX', presets);
const workload = choice(__ENV, 'WORKLOAD', Object.keys(workloads), where.mayWrite ? 'b' : 'c');
const mix = parseMix('MIX', __ENV.MIX || workloads[workload].mix);
const keysKind = choice(__ENV, 'KEYS', ['uniform', 'zipf', 'latest'], workloads[workload].keys);
const rate = number(__ENV, 'RATE', 0, 0);
const vus = number(__ENV, 'VUS', 4, 1);
const maxVUs = number(__ENV, 'MAX_VUS', 100, 1);
const duration = __ENV.DURATION || chosen.duration;

const rec = record({
  name: 'mix',
  dir: __ENV.RESULTS_DIR || 'results/mix',
  dataset: where.dataset,
  system: where.system,
  settings: { preset: chosen.preset, workload: __ENV.MIX ? 'own' : workload, mix, keys: keysKind, rate, vus, duration },
  run: described(where, {
    state: compacted(where, 'before_the_run'),
    workload: {
      operations: Object.keys(mix).join('+'), mix: Object.entries(mix).map(([k, w]) => `${k}:${w}`).join('_'),
      contention: keysKind, arrival: rate > 0 ? 'open' : 'closed', clients: rate > 0 ? `${rate}_per_s` : String(vus), delta_size: '1',
    },
    protocol: { schedule: rate > 0 ? 'open' : 'closed', repetitions: '1' },
  }),
});

const load = rate > 0
  ? { executor: 'constant-arrival-rate', rate, timeUnit: '1s', preAllocatedVUs: Math.min(maxVUs, Math.max(4, rate)), maxVUs }
  : { executor: 'constant-vus', vus };
const level = rate > 0 ? { rate: String(rate) } : { workers: String(vus) };

export const options = {
  scenarios: {
    warmup: { executor: 'constant-vus', vus: 2, duration: '3s', exec: 'operation', gracefulStop: '10s', tags: { phase: 'warmup' } },
    mix: { ...load, duration, startTime: '4s', exec: 'operation', gracefulStop: '30s', tags: { ...level, phase: 'measure' } },
  },
  summaryTrendStats: ['min', 'med', 'p(95)', 'max', 'count'],
  setupTimeout: '2m',
  teardownTimeout: '10m',
  thresholds: {
    'omnigraph_op_failed{scenario:mix}': ['rate<0.01'],
    ...(rate > 0 ? { 'dropped_iterations{scenario:mix}': ['count>=0'], 'iterations{scenario:mix}': ['count>=0'] } : {}),
  },
};

/** @type {import('k6/x/omnigraph').Retry} */
const retry = { maxAttempts: 50, maxElapsed: '30s', baseDelay: '5ms', maxDelay: '300ms', kinds: ['conflict_stale'] };
const http = new HTTPClient({ url: where.uri, graph: where.graph, token: givenTokens(__ENV, where), timeout: '60s', retry });
const cli = new CLIClient({ server: where.uri, graph: where.graph, token: where.token, bin: where.bin, store: where.store, timeout: '600s' });

export function setup() {
  compareOptions('mix', rate > 0 ? { duration, rate } : { duration, vus });
  const data = begin(where, http, rec, { writes: writes(mix), divisible: true });
  needKeys(data, where);
  if (where.store && where.mayWrite && share()) {
    console.warn('the optimize before the run is left out: this process does a share of the test, and the others would be disturbed');
  } else if (where.store && where.mayWrite) {
    optimizeNow(http, cli, rec, 'before the run');
  }
  rec.extra('mix', { workload: __ENV.MIX ? '' : workload, mix, keys: keysKind });
  return { ...data, own: mix.update || mix.rmw ? ownRows(http, data, 'mix') : [] };
}

let next;
export function operation(data) {
  next = next || mixer(http, mix, keysKind, data, 'mix');
  const res = next();
  if (!res.ok) {
    tell(res.op, res.error);
  }
}

export function teardown(data) {
  leave(where, http, cli, rec, data);
}

export function handleSummary(data) {
  return report(data);
}
