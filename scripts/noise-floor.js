// How large a difference has to be on this machine and server before it means anything?
//
// An A/A run: the same operation against itself, a and b alternating within every iteration, so that whatever difference
// shows is noise. The blocks' differences between the medians of a and b give the floor (their root mean square): the
// record keeps it, and NOISE_FLOOR=0.02 hands it to the other scenarios of the same session.
//
//   bin/k6 x omnigraph rig run -- bin/k6 run scripts/noise-floor.js
//
// Environment: NOISE_PRESET or PRESET = short|full, NOISE_BLOCKS, NOISE_PAIRS (in a block), NOISE_STEPS (a list of http_read,
// cli_read, http_insert; inserts with ALLOW_WRITES=1 or on a rig only), OMNIGRAPH_URI, OMNIGRAPH_GRAPH, OMNIGRAPH_TOKEN,
// OMNIGRAPH_BIN, OMNIGRAPH_STORE, RESULTS_DIR.
import exec from 'k6/execution';
import { CLIClient, HTTPClient, compare, record, report, sequence } from 'k6/x/omnigraph';
import { number, target } from './lib/target.js';
import { insertRow, pointRead, row } from './lib/council.js';
import { begin, compacted, described, leave, needKeys, optimizeNow, pick, sized, stepScenarios } from './lib/scenario.js';
import { median } from './lib/numbers.js';

const presets = {
  short: { blocks: 10, pairs: { http_read: 40, cli_read: 20, http_insert: 5 } },
  full: { blocks: 20, pairs: { http_read: 200, cli_read: 60, http_insert: 10 } },
};
const where = target(__ENV);
const chosen = sized(__ENV, 'NOISE', presets);
const blocks = number(__ENV, 'NOISE_BLOCKS', chosen.blocks, 2);
const wanted = (__ENV.NOISE_STEPS || 'http_read,cli_read,http_insert').split(',').map((s) => s.trim());
const steps = [];
for (const name of wanted) {
  if (!(name in chosen.pairs)) {
    throw new Error(`NOISE_STEPS got "${name}"; it takes a list of ${Object.keys(chosen.pairs).join(', ')}`);
  }
  if (name === 'http_insert' && !where.mayWrite) {
    continue;
  }
  const pairs = number(__ENV, 'NOISE_PAIRS', chosen.pairs[name], 1);
  steps.push({ name, run: name, of: blocks * pairs, workers: 1, pairs });
}
const byName = Object.fromEntries(steps.map((s) => [s.name, s]));
const turns = sequence('noise-floor', steps.map((s) => s.name));

const rec = record({
  name: 'noise-floor',
  dir: __ENV.RESULTS_DIR || 'results/noise-floor',
  dataset: where.dataset,
  system: where.system,
  settings: { preset: chosen.preset, blocks, steps: steps.map((s) => s.name) },
  run: described(where, {
    state: compacted(where, 'before_the_run'),
    workload: { operations: steps.map((s) => s.name).join('+') || 'none', mix: 'a_against_a', arrival: 'closed', clients: '1' },
    protocol: { schedule: 'closed', attribution: 'paired_within_iteration', repetitions: String(blocks) },
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
    'omnigraph_pair_overhead{pair:a-b}': ['max>=0'],
  },
};

const http = new HTTPClient({ url: where.uri, graph: where.graph, token: where.token, timeout: '120s' });
const cli = new CLIClient({ server: where.uri, graph: where.graph, token: where.token, bin: where.bin, store: where.store, timeout: '120s' });

export function setup() {
  const data = begin(where, http, rec);
  needKeys(data, where);
  if (where.store && where.mayWrite) {
    optimizeNow(http, cli, rec, 'before the run');
  }
  return data;
}

// The pairs of the step's current block, and the relative differences of the blocks before.
const block = { a: [], b: [] };
const differences = [];
let made = 0;

/** @param {() => import('k6/x/omnigraph').Result} operation */
function pair(operation) {
  const step = byName[exec.scenario.name];
  turns.turn(step.name, { of: step.of, workers: 1, warmup: 2 }, () => {
    const took = compare({ a: operation, b: operation });
    if (exec.vu.tags.phase === 'warmup') {
      return;
    }
    made += 1;
    block.a.push(took.a);
    block.b.push(took.b);
    if (block.a.length === step.pairs) {
      differences.push((median(block.b) - median(block.a)) / median(block.a));
      block.a = [];
      block.b = [];
    }
    if (made === step.of) {
      rec.extra(`noise:${step.name}`, { pairs: step.pairs, differences: [...differences] });
      const floor = Math.sqrt(differences.reduce((sum, d) => sum + d * d, 0) / differences.length);
      if (step.name === steps[0].name && Number.isFinite(floor)) {
        rec.noiseFloor(Math.min(floor, 1)); // a machine that is this noisy shows nothing at all
      }
    }
  });
}

export function http_read(data) {
  const slug = pick(data.keys, exec.vu.iterationInInstance);
  pair(() => http.query(pointRead, { slug }));
}

export function cli_read(data) {
  const slug = pick(data.keys, exec.vu.iterationInInstance);
  pair(() => cli.query(pointRead, { slug }));
}

let written = 0;
export function http_insert(data) {
  pair(() => {
    written += 1;
    return http.mutate(insertRow, row(`noise-${data.id}-${written}`, data.project));
  });
}

export function teardown(data) {
  leave(where, http, cli, rec, data);
}

export function handleSummary(data) {
  return report(data);
}
