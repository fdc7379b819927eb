// How many operations a second can the server take while it keeps its latency, and what is it that ends it?
//
// Open model: operations arrive by schedule, whether the server keeps up or not. setup() first feels for the throughput
// with a closed loop; the steps then go from far below to beyond it, several times over. The knee is the rate at which
// the p95 crosses the objective. The report tells the server's knee, the admission cap (a policy) and the generator's own
// limit apart.
//
// k6 fixes the rates of its scenarios before setup() runs. So each scenario is scheduled at its share of CAPACITY_MAX, and
// of its iterations an evenly spread part goes on to send an operation: as many as make the rate that setup() found right.
//
//   bin/k6 x omnigraph rig run -- bin/k6 run scripts/capacity.js
//
// Environment: CAPACITY_PRESET or PRESET = short|full, CAPACITY_OP = read|scan|insert, SLO_P95_MS (the objective, default 50;
// 500 for inserts), CAPACITY_MAX (the highest throughput looked for, operations a second, default 1000), CAPACITY_ESTIMATE
// (skips feeling for it), CAPACITY_SHARES (the steps, in percent of what was found), CAPACITY_STEP_SECONDS, CAPACITY_REPEATS, CAPACITY_VUS, CAPACITY_ACTORS (inserts spread over actors),
// ALLOW_WRITES=1, OMNIGRAPH_URI, OMNIGRAPH_GRAPH, OMNIGRAPH_TOKEN, OMNIGRAPH_TOKENS or OMNIGRAPH_TOKENS_FILE, OMNIGRAPH_BIN,
// OMNIGRAPH_STORE, NOISE_FLOOR, RESULTS_DIR.
import exec from 'k6/execution';
import { CLIClient, HTTPClient, record, report } from 'k6/x/omnigraph';
import { choice, number, numbers, target } from './lib/target.js';
import { actorTokens } from './lib/actors.js';
import { fullScan, insertRow, pointRead, row } from './lib/council.js';
import { begin, compacted, described, leave, needKeys, optimizeNow, sized } from './lib/scenario.js';
import { quantile } from './lib/numbers.js';

const presets = {
  short: { seconds: 3, repeats: 3, vus: 100, shares: [0.25, 0.4, 0.55, 0.7, 0.85, 1.05] },
  full: { seconds: 20, repeats: 5, vus: 300, shares: [0.15, 0.3, 0.45, 0.6, 0.7, 0.8, 0.9, 1.0, 1.15] },
};
const where = target(__ENV);
const chosen = sized(__ENV, 'CAPACITY', presets);
const op = choice(__ENV, 'CAPACITY_OP', ['read', 'scan', 'insert'], 'read');
const size = {
  seconds: number(__ENV, 'CAPACITY_STEP_SECONDS', chosen.seconds, 1),
  repeats: number(__ENV, 'CAPACITY_REPEATS', chosen.repeats, 1),
  vus: number(__ENV, 'CAPACITY_VUS', chosen.vus, 1),
  max: number(__ENV, 'CAPACITY_MAX', 1000, 1),
  estimate: number(__ENV, 'CAPACITY_ESTIMATE', 0, 0),
  sloP95: number(__ENV, 'SLO_P95_MS', op === 'insert' ? 500 : 50, 1),
  actors: number(__ENV, 'CAPACITY_ACTORS', 1, 1),
};

const shares = numbers(__ENV, 'CAPACITY_SHARES', chosen.shares.map((s) => Math.round(s * 100))).map((percent) => percent / 100);

// Between two steps what the one left in flight ends.
const pause = 1;
const steps = [];
for (let repeat = 1; repeat <= size.repeats; repeat += 1) {
  for (const share of shares) {
    const name = `step_${String(Math.round(share * 100)).padStart(3, '0')}_r${repeat}`;
    steps.push({ name, share, scheduled: Math.max(1, Math.round(size.max * share)), start: steps.length * (size.seconds + pause) });
  }
}
const byName = Object.fromEntries(steps.map((s) => [s.name, s]));

const rec = record({
  name: 'capacity',
  dir: __ENV.RESULTS_DIR || 'results/capacity',
  dataset: where.dataset,
  system: where.system,
  settings: { preset: chosen.preset, op, ...size, shares },
  probes: steps.map((s) => s.name),
  run: described(where, {
    state: compacted(where, 'before_the_run'),
    workload: { operations: op, delta_size: op === 'insert' ? '1' : '0', contention: 'distinct-key', arrival: 'open', clients: `up_to_${size.vus}` },
    protocol: { schedule: 'open', repetitions: String(size.repeats), deadline: '10s' },
  }),
});

export const options = {
  scenarios: Object.fromEntries(steps.map((s) => [s.name, {
    executor: 'constant-arrival-rate',
    exec: 'arrival',
    rate: s.scheduled,
    timeUnit: '1s',
    duration: `${size.seconds}s`,
    startTime: `${s.start}s`,
    preAllocatedVUs: size.vus,
    maxVUs: size.vus,
    gracefulStop: '10s',
    tags: { phase: 'measure' },
  }])),
  summaryTrendStats: ['min', 'med', 'p(95)', 'max', 'count'],
  setupTimeout: '5m',
  teardownTimeout: '10m',
  thresholds: {
    'omnigraph_ops': ['count>0'],
    ...Object.fromEntries(steps.map((s) => [`dropped_iterations{scenario:${s.name}}`, ['count>=0']])),
    ...Object.fromEntries(steps.map((s) => [`iterations{scenario:${s.name}}`, ['count>=0']])),
  },
};

const http = new HTTPClient({ url: where.uri, graph: where.graph, token: actorTokens(__ENV, where, size.actors), timeout: '10s' });
const cli = new CLIClient({ server: where.uri, graph: where.graph, token: where.token, bin: where.bin, store: where.store, timeout: '600s' });

let sent = 0;
function send(data, async) {
  sent += 1;
  if (op === 'insert') {
    const params = row(`capacity-${data.id}-${exec.vu.idInTest}-${sent}`, data.project);
    return async ? http.asyncMutate(insertRow, params) : http.mutate(insertRow, params);
  }
  const [gq, params] = op === 'scan' ? [fullScan, {}] : [pointRead, { slug: data.keys[(sent * 7919 + exec.vu.idInTest * 31) % data.keys.length] }];
  return async ? http.asyncQuery(gq, params) : http.query(gq, params);
}

// feel finds about how many operations a second the server makes with more and more in flight.
async function feel(data) {
  const levels = [];
  for (const n of op === 'insert' ? [1, 2, 4, 8] : [1, 2, 4, 8, 16, 32]) {
    const begun = Date.now();
    const took = [];
    const client = async () => {
      while (Date.now() - begun < 700) {
        const res = await send(data, true);
        if (res.ok) {
          took.push(res.duration);
        }
      }
    };
    await Promise.all(Array.from({ length: n }, client));
    const rate = (took.length * 1000) / (Date.now() - begun);
    levels.push({ n, rate, p95: quantile(took, 0.95) || 0 });
    const best = Math.max(...levels.map((l) => l.rate));
    if (rate < best * 0.9 || took.length === 0) {
      break;
    }
  }
  return levels;
}

export async function setup() {
  const data = begin(where, http, rec, { writes: op === 'insert' });
  if (op !== 'insert') {
    needKeys(data, where);
  }
  if (where.store && where.mayWrite) {
    optimizeNow(http, cli, rec, 'before the run');
  }
  const levels = size.estimate > 0 ? [] : await feel(data);
  // The steps lie around the highest throughput that kept the objective, or around the lowest level's if none did.
  const kept = levels.filter((l) => l.rate > 0 && l.p95 <= size.sloP95);
  const estimate = size.estimate || (kept.length > 0 ? Math.max(...kept.map((l) => l.rate)) : (levels[0] || {}).rate);
  if (!(estimate > 0)) {
    exec.test.abort('not one operation succeeded while feeling for the throughput');
  }
  const scale = Math.min(1, estimate / size.max);
  rec.extra('capacity_search', { op, query: { read: 'get_memory', scan: 'list_memories', insert: 'add_memory' }[op], sloP95: size.sloP95, vus: size.vus, max: size.max, estimate, scale, levels });
  // Each VU needs few of the keys; all of them for every VU would be a copy each.
  return { ...data, keys: data.keys.slice(0, 500), scale };
}

export function arrival(data) {
  const step = byName[exec.scenario.name];
  const i = exec.scenario.iterationInTest;
  if (Math.floor((i + 1) * data.scale) === Math.floor(i * data.scale)) {
    return;
  }
  const rate = String(Number((step.scheduled * data.scale).toPrecision(4)));
  if (exec.vu.tags.rate !== rate) {
    exec.vu.tags.rate = rate;
  }
  send(data, false);
}

export function teardown(data) {
  leave(where, http, cli, rec, data);
}

export function handleSummary(data) {
  return report(data);
}
