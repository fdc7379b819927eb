// Does latency drift over hours of the same load?
//
// A steady mix of point reads and, where it may write, single-row inserts arrives by schedule for a long time. The report
// fits each operation's latency over time and says whether it drifts, with an interval. Inserts make fragments: with
// SOAK_OPTIMIZE_EVERY the store is optimized as often as a scheduled job would. On a rig that is the default. On your own
// store it has to be asked for: omnigraph 0.8 may refuse all further writes to a table that was optimized while it was written.
//
//   bin/k6 x omnigraph rig run -- bin/k6 run scripts/soak.js
//
// Environment: SOAK_PRESET or PRESET = short|full, DURATION (such as 8h), RATE (iterations a second), MIX (weights, as in
// mix.js), SOAK_OPTIMIZE_EVERY (seconds, 0 for never; needs OMNIGRAPH_STORE), MAX_VUS, ALLOW_WRITES=1, OMNIGRAPH_URI,
// OMNIGRAPH_GRAPH, OMNIGRAPH_TOKEN or (for several actors) OMNIGRAPH_TOKENS or OMNIGRAPH_TOKENS_FILE (not the rig's own),
// OMNIGRAPH_BIN, OMNIGRAPH_STORE, NOISE_FLOOR, RESULTS_DIR.
import { sleep } from 'k6';
import exec from 'k6/execution';
import { CLIClient, HTTPClient, record, report } from 'k6/x/omnigraph';
import { givenTokens } from './lib/actors.js';
import { number, target } from './lib/target.js';
import { begin, compareOptions, described, leave, needKeys, maintain, sized, tell } from './lib/scenario.js';
import { mixer, ownRows, parseMix, writes } from './lib/mix.js';

const presets = {
  short: { duration: '60s', rate: 10, optimizeEvery: 25 },
  full: { duration: '1h', rate: 10, optimizeEvery: 600 },
};
const where = target(__ENV);
const chosen = sized(__ENV, 'SOAK', presets);
const duration = __ENV.DURATION || chosen.duration;
const rate = number(__ENV, 'RATE', chosen.rate, 1);
const mix = parseMix('MIX', __ENV.MIX || (where.mayWrite ? 'read:95,insert:5' : 'read:100'));
const maxVUs = number(__ENV, 'MAX_VUS', 50, 1);
const optimizeEvery = where.store && where.mayWrite
  ? number(__ENV, 'SOAK_OPTIMIZE_EVERY', where.isRig ? chosen.optimizeEvery : 0, 0)
  : 0;

const rec = record({
  name: 'soak',
  dir: __ENV.RESULTS_DIR || 'results/soak',
  dataset: where.dataset,
  system: where.system,
  settings: { preset: chosen.preset, mix, rate, duration, optimizeEvery },
  run: described(where, {
    state: { f5_compaction_recency: optimizeEvery > 0 ? `every_${optimizeEvery}_s` : 'never' },
    workload: { operations: Object.keys(mix).join('+'), contention: 'uniform', arrival: 'open', clients: `${rate}_per_s`, delta_size: '1' },
    protocol: { schedule: 'open', repetitions: '1' },
  }),
});

export const options = {
  scenarios: {
    soak: {
      executor: 'constant-arrival-rate', rate, timeUnit: '1s', duration, exec: 'operation',
      preAllocatedVUs: Math.min(maxVUs, Math.max(5, rate)), maxVUs, gracefulStop: '60s', tags: { rate: String(rate), phase: 'measure' },
    },
    ...(optimizeEvery > 0 ? {
      maintenance: { executor: 'constant-vus', vus: 1, duration, exec: 'maintenance', gracefulStop: '1s', tags: { phase: 'measure' } },
    } : {}),
  },
  summaryTrendStats: ['min', 'med', 'p(95)', 'max', 'count'],
  setupTimeout: '2m',
  teardownTimeout: '10m',
  thresholds: {
    'omnigraph_op_failed{scenario:soak}': ['rate<0.01'],
    'dropped_iterations{scenario:soak}': ['count>=0'],
    'iterations{scenario:soak}': ['count>=0'],
  },
};

/** @type {import('k6/x/omnigraph').Retry} */
const retry = { maxAttempts: 50, maxElapsed: '30s', baseDelay: '5ms', maxDelay: '300ms', kinds: ['conflict_stale'] };
const http = new HTTPClient({ url: where.uri, graph: where.graph, token: givenTokens(__ENV, where), timeout: '60s', retry });
const cli = new CLIClient({ server: where.uri, graph: where.graph, token: where.token, bin: where.bin, store: where.store, timeout: '600s' });

export function setup() {
  compareOptions('soak', { duration, rate });
  const data = begin(where, http, rec, { writes: writes(mix), divisible: true });
  needKeys(data, where);
  rec.extra('soak', { rate, duration, optimizeEvery });
  return { ...data, own: mix.update || mix.rmw ? ownRows(http, data, 'soak') : [] };
}

let next;
export function operation(data) {
  next = next || mixer(http, mix, 'uniform', data, 'soak');
  const res = next();
  if (!res.ok) {
    tell(res.op, res.error);
  }
}

// maintenance is the scheduled job; it sleeps in small steps, so that the run's end does not wait for it.
let since = 0;
export function maintenance() {
  sleep(1);
  since += 1;
  if (since >= optimizeEvery) {
    since = 0;
    maintain(http, cli, rec, `after ${Math.round(exec.instance.currentTestRunDuration / 1000)} s`);
  }
}

export function teardown(data) {
  leave(where, http, cli, rec, data);
}

export function handleSummary(data) {
  return report(data);
}
