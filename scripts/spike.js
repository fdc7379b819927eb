// Which transport should a client use: one CLI process per call, or one kept HTTP connection?
//
// Path A is the bare start of the CLI (`omnigraph --version`), B the CLI per call, C HTTP on a kept connection. B and C
// alternate within every iteration, so that both meet the same store, cache and competing load. The steps take turns:
//   optimize, reads at every level, then for each write level optimize and the inserts,
//   then single-row commits on purpose, a read, optimize, and the same read again.
//
//   make spike                                     on a rig of its own
//   OMNIGRAPH_URI=https://… bin/k6 run scripts/spike.js     on any omnigraph, reads only
//
// Environment: SPIKE_PRESET=full|quick (or PRESET=full|short), SPIKE_WORKERS=1,4,8, SPIKE_READS, SPIKE_WRITES,
// SPIKE_FRAGMENTS, SPIKE_FLOOR, SPIKE_AFTER, SPIKE_STEPS (a list of floor, reads, writes, fragments), ALLOW_WRITES=1, OMNIGRAPH_URI, OMNIGRAPH_GRAPH,
// OMNIGRAPH_TOKEN, OMNIGRAPH_BIN, OMNIGRAPH_STORE (for optimize), RESULTS_DIR.
import exec from 'k6/execution';
import { CLIClient, HTTPClient, compare, record, report, sequence } from 'k6/x/omnigraph';
import { choice, number, numbers, runID, target } from './lib/target.js';
import { described, pick, recordable, stepScenarios, tell, undivided } from './lib/scenario.js';
import { forgetRun, fullScan, insertRow, keysOf, pointRead, row } from './lib/council.js';

const presets = {
  full: { reads: 200, writes: 40, fragments: 300, floor: 100, after: 60 },
  quick: { reads: 60, writes: 20, fragments: 120, floor: 30, after: 30 },
};
const where = target(__ENV);
// PRESET is for all scenarios; the spike's own word for short is quick.
const preset = choice(__ENV, 'SPIKE_PRESET', Object.keys(presets), choice(__ENV, 'PRESET', ['short', 'full'], 'full') === 'short' ? 'quick' : 'full');
const size = {
  reads: number(__ENV, 'SPIKE_READS', presets[preset].reads, 1),
  writes: number(__ENV, 'SPIKE_WRITES', presets[preset].writes, 1),
  fragments: number(__ENV, 'SPIKE_FRAGMENTS', presets[preset].fragments, 1),
  floor: number(__ENV, 'SPIKE_FLOOR', presets[preset].floor, 1),
  after: number(__ENV, 'SPIKE_AFTER', presets[preset].after, 1),
};
const workers = numbers(__ENV, 'SPIKE_WORKERS', [1, 4, 8]);
const wanted = (__ENV.SPIKE_STEPS || 'floor,reads,writes,fragments').split(',').map((s) => s.trim());
const canOptimize = Boolean(where.store);

// plan lists the steps in their order: name, how many turns, by how many workers, what a turn does, and what it is for.
function plan() {
  const steps = [];
  const add = (name, of, n, run) => steps.push({ name, of: Math.max(of, n), workers: n, run });
  const optimizeStep = (name) => {
    if (canOptimize && where.mayWrite) {
      add(name, 1, 1, 'optimize');
    }
  };
  if (wanted.includes('floor')) {
    for (const n of workers.filter((w, i) => i === 0 || i === workers.length - 1)) {
      add(`floor_${n}`, size.floor, n, 'floor');
    }
  }
  optimizeStep('optimize_reads');
  if (wanted.includes('reads')) {
    for (const n of workers) {
      add(`point_read_${n}`, size.reads, n, 'point');
    }
    for (const n of workers) {
      add(`full_scan_${n}`, size.reads, n, 'scan');
    }
  }
  if (wanted.includes('writes') && where.mayWrite) {
    for (const n of workers) {
      optimizeStep(`optimize_insert_${n}`);
      add(`insert_${n}`, size.writes, n, 'insert');
    }
  }
  if (wanted.includes('fragments') && where.mayWrite && canOptimize) {
    optimizeStep('optimize_fragments');
    add('fragment', size.fragments, 1, 'fragment');
    add('fragmented_read_1', size.after, 1, 'point');
    optimizeStep('optimize_after');
    add('optimized_read_1', size.after, 1, 'point');
  }
  return steps;
}

const steps = plan();
const byName = Object.fromEntries(steps.map((s) => [s.name, s]));
const turns = sequence('spike', steps.map((s) => s.name));
const rec = record({
  name: 'spike',
  dir: __ENV.RESULTS_DIR || 'results/spike',
  dataset: where.dataset,
  system: where.system,
  settings: { preset, workers, ...size, steps: wanted },
  run: described(where, {
    state: { f1_fragmentation: canOptimize && where.mayWrite ? 'optimized_before_each_level' : 'as_found' },
    workload: { operations: wanted.join('+'), mix: 'paired', delta_size: '1', contention: 'distinct-key', arrival: 'closed', clients: workers.join('/') },
    protocol: { schedule: 'closed', attribution: 'paired_within_iteration', repetitions: '1' },
  }),
});

export const options = {
  scenarios: stepScenarios(steps),
  summaryTrendStats: ['min', 'med', 'p(95)', 'max', 'count'],
  setupTimeout: '2m',
  teardownTimeout: '5m',
  // Thresholds without a limit: they make k6's summary show the transports apart.
  thresholds: {
    'omnigraph_op_duration{transport:http}': ['max>=0'],
    'omnigraph_op_duration{transport:cli}': ['max>=0'],
    'omnigraph_op_failed': ['rate<=1'],
    'http_req_duration{phase:measure}': ['max>=0'],
  },
};

const http = new HTTPClient({ url: where.uri, graph: where.graph, token: where.token, timeout: '120s' });
const cli = new CLIClient({ server: where.uri, graph: where.graph, token: where.token, bin: where.bin, store: where.store, timeout: '120s', maxProcesses: 64 });
const warmup = 2;

export function setup() {
  undivided();
  recordable(rec);
  const health = http.health();
  if (!health.ok) {
    exec.test.abort(`the server can't be used: ${health.error.message}`);
  }
  if (!where.mayWrite) {
    console.warn('reads only: writing and fragmenting are left out on a store that is no rig (ALLOW_WRITES=1 allows them)');
  } else if (!canOptimize) {
    console.warn('optimize and fragmenting are left out: they need the store itself (OMNIGRAPH_STORE)');
  }
  const version = cli.version();
  if (!version.ok) {
    exec.test.abort(`the CLI can't be used: ${version.error.message}`);
  }
  const keys = keysOf(http);
  if (keys.length === 0) {
    exec.test.abort(`graph ${where.graph} holds no Memory rows to read; a rig brings its own`);
  }
  rec.before(http);
  const id = runID();
  return { keys, id, project: `load-test-${id}` };
}

let announced = false;

// inTurn runs one turn of the step that this scenario is.
function inTurn(fn) {
  const step = byName[exec.scenario.name];
  const first = exec.scenario.iterationInTest === 0;
  turns.turn(step.name, { of: step.of, workers: step.workers, warmup: step.of > 1 && step.run !== 'fragment' ? warmup : 0 }, () => {
    if (first && !announced) {
      announced = true;
      console.info(`${step.name}: ${step.of} ${step.of === 1 ? 'turn' : 'turns'}, ${step.workers} ${step.workers === 1 ? 'worker' : 'workers'}`);
    }
    return fn();
  });
}

let written = 0;
function newKey(id) {
  written += 1;
  return `spike-${id}-${exec.vu.idInTest}-${written}`;
}

export function floor() {
  inTurn(() => cli.version());
}

export function point(data) {
  inTurn(() => {
    const params = { slug: pick(data.keys, exec.vu.iterationInInstance) };
    compare({
      cli: () => cli.query(pointRead, params),
      http: () => http.query(pointRead, params),
    });
  });
}

export function scan() {
  inTurn(() => compare({
    cli: () => cli.query(fullScan, {}),
    http: () => http.query(fullScan, {}),
  }));
}

export function insert(data) {
  inTurn(() => {
    const keys = { cli: newKey(data.id), http: newKey(data.id) };
    compare({
      cli: () => cli.mutate(insertRow, row(keys.cli, data.project)),
      http: () => http.mutate(insertRow, row(keys.http, data.project)),
    });
  });
}

export function fragment(data) {
  inTurn(() => {
    const res = http.mutate(insertRow, row(newKey(data.id), data.project), { name: 'fragment' });
    if (!res.ok) {
      tell('a single-row commit failed', res.error);
    }
  });
}

export function optimize() {
  inTurn(() => {
    const res = cli.optimize();
    if (!res.ok) {
      exec.test.abort(`optimize failed: ${res.error.message}`);
    }
    rec.event('optimize', exec.scenario.name, res.duration);
  });
}

export function teardown(data) {
  rec.after(http);
  if (where.isRig || !where.mayWrite) {
    return;
  }
  http.query(pointRead, { slug: 'refresh' }); // a store that was just optimized is stale to the server until it is read
  const gone = forgetRun(http, data.project);
  console.info(`${gone} rows of this run were deleted in one commit; the run's own commits stay in the store's history`);
}

export function handleSummary(data) {
  return report(data);
}
