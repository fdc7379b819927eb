// What do single-row commits cost reads, and how often does the store need an optimize?
//
// The store is optimized, then grows one single-row commit at a time; after every few commits the same point reads are
// timed. Then it is optimized again, and read once more. The report gives the cost of a commit to every later read with
// its interval, after how many reads an optimize has paid for itself, and how many commits may pass between two of them.
// Without access to the store (OMNIGRAPH_STORE) the optimizes are left out and the slope is measured on the store as found.
//
//   bin/k6 x omnigraph rig run -- bin/k6 run scripts/fragmentation.js
//
// Environment: FRAGMENTATION_PRESET or PRESET = short|full, FRAGMENTATION_COMMITS, FRAGMENTATION_EVERY (commits between two
// rounds of reads), FRAGMENTATION_READS (reads a round), FRAGMENTATION_AFTER (reads on the fragmented and on the optimized
// store), SLO_P95_MS (the read p95 to keep, default 50), WRITES_PER_HOUR (single-row commits, default 60), ALLOW_WRITES=1,
// OMNIGRAPH_URI, OMNIGRAPH_GRAPH, OMNIGRAPH_TOKEN, OMNIGRAPH_BIN, OMNIGRAPH_STORE, NOISE_FLOOR, RESULTS_DIR.
import exec from 'k6/execution';
import { CLIClient, HTTPClient, record, report, sequence } from 'k6/x/omnigraph';
import { number, target } from './lib/target.js';
import { insertRow, pointRead, row } from './lib/council.js';
import { begin, described, leave, needKeys, optimizeNow, pick, round, sized, stepScenarios, warmUp } from './lib/scenario.js';

const presets = {
  short: { commits: 120, every: 4, reads: 8, after: 200 },
  full: { commits: 300, every: 5, reads: 10, after: 400 },
};
const where = target(__ENV);
const chosen = sized(__ENV, 'FRAGMENTATION', presets);
const size = {
  commits: number(__ENV, 'FRAGMENTATION_COMMITS', chosen.commits, 1),
  every: number(__ENV, 'FRAGMENTATION_EVERY', chosen.every, 1),
  reads: number(__ENV, 'FRAGMENTATION_READS', chosen.reads, 1),
  after: number(__ENV, 'FRAGMENTATION_AFTER', chosen.after, 1),
};
const goal = {
  sloP95: number(__ENV, 'SLO_P95_MS', 50, 1),
  writesPerHour: number(__ENV, 'WRITES_PER_HOUR', 60, 1),
};
const optimizes = Boolean(where.store) && where.mayWrite;

const steps = [
  optimizes && { name: 'optimize_before', of: 1, workers: 1, run: 'optimize' },
  { name: 'aging', of: size.commits, workers: 1, run: 'aging' },
  { name: 'fragmented_read', of: size.after, workers: 1, run: 'read' },
  optimizes && { name: 'optimize_after', of: 1, workers: 1, run: 'optimize' },
  optimizes && { name: 'optimized_read', of: size.after, workers: 1, run: 'read' },
].filter(Boolean);
const turns = sequence('fragmentation', steps.map((s) => s.name));

const rec = record({
  name: 'fragmentation',
  dir: __ENV.RESULTS_DIR || 'results/fragmentation',
  dataset: where.dataset,
  system: where.system,
  settings: { preset: chosen.preset, ...size, ...goal },
  run: described(where, {
    state: { f1_fragmentation: optimizes ? `optimized_then_${size.commits}_commits` : 'as_found' },
    workload: { operations: 'point_read+insert', delta_size: '1', contention: 'distinct-key', arrival: 'closed', clients: '1' },
    protocol: { schedule: 'closed', attribution: 'reads_by_commits', repetitions: '1' },
  }),
});

export const options = {
  scenarios: stepScenarios(steps),
  summaryTrendStats: ['min', 'med', 'p(95)', 'max', 'count'],
  setupTimeout: '2m',
  teardownTimeout: '10m',
  thresholds: {
    // The maintenance's own failures are no failures of the load.
    'omnigraph_op_failed{op:query}': ['rate<0.01'],
    'omnigraph_op_failed{op:mutate}': ['rate<0.01'],
    'omnigraph_op_duration{scenario:fragmented_read}': ['max>=0'],
    'omnigraph_op_duration{scenario:optimized_read}': ['max>=0'],
  },
};

const http = new HTTPClient({ url: where.uri, graph: where.graph, token: where.token, timeout: '120s' });
const cli = new CLIClient({ server: where.uri, graph: where.graph, token: where.token, bin: where.bin, store: where.store, timeout: '600s' });

export function setup() {
  const data = begin(where, http, rec, { writes: true, optimizes: true });
  needKeys(data, where);
  return data;
}

const turn = (name, of, fn) => turns.turn(name, { of, workers: 1 }, fn);

// What the aging store showed; one VU makes all of it.
const seen = { commits: [], ms: [], insertCommits: [], insertMS: [] };
let made = 0;

function timedReads(data, commits) {
  for (let i = 0; i < size.reads; i += 1) {
    const res = http.query(pointRead, { slug: pick(data.keys, made * size.reads + i) });
    if (res.ok) {
      seen.commits.push(commits);
      seen.ms.push(round(res.duration));
    }
  }
}

export function aging(data) {
  turn('aging', size.commits, () => {
    const start = optimizes ? 0 : data.sinceOptimize || 0;
    if (made === 0) {
      warmUp((i) => http.query(pointRead, { slug: pick(data.keys, i) }));
      timedReads(data, start);
    }
    const res = http.mutate(insertRow, row(`fragmentation-${data.id}-${made}`, data.project));
    if (!res.ok) {
      exec.test.abort(`a single-row commit failed: ${res.error.message}`);
    }
    made += 1;
    seen.insertCommits.push(start + made);
    seen.insertMS.push(round(res.duration));
    if (made % size.every === 0 || made === size.commits) {
      timedReads(data, start + made);
      rec.extra('aging', { ...seen, start, goal, optimizes });
    }
  });
}

let reads = 0;
export function read(data) {
  turn(exec.scenario.name, size.after, () => {
    reads += 1;
    http.query(pointRead, { slug: pick(data.keys, reads) });
  });
}

export function optimize() {
  turn(exec.scenario.name, 1, () => {
    const took = optimizeNow(http, cli, rec, exec.scenario.name);
    if (exec.scenario.name === 'optimize_after') {
      rec.extra('aging_optimize', { ms: round(took), commits: size.commits });
    }
  });
}

export function teardown(data) {
  leave(where, http, cli, rec, data);
}

export function handleSummary(data) {
  return report(data);
}
