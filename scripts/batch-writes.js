// How many rows should one commit carry?
//
// Rows are written with 1 to 4096 of them in a commit, as one mutation of many inserts and as a load. The store is
// optimized before every size where it can be, so that all sizes begin alike. After each size the same point reads are timed: what the commits cost whoever reads next.
//
//   bin/k6 x omnigraph rig run -- bin/k6 run scripts/batch-writes.js
//
// Environment: BATCH_PRESET or PRESET = short|full, BATCH_SIZES (1,8,64,…), BATCH_COMMITS (of each size), BATCH_READS (after
// each size), BATCH_FORMS (a list of mutate and load), BATCH_MUTATE_MAX (the largest size written as a mutation, default
// 512, since a mutation's request may have 1 MB), ALLOW_WRITES=1, OMNIGRAPH_URI, OMNIGRAPH_GRAPH, OMNIGRAPH_TOKEN,
// OMNIGRAPH_BIN, OMNIGRAPH_STORE (for optimize), NOISE_FLOOR, RESULTS_DIR.
import exec from 'k6/execution';
import { CLIClient, HTTPClient, record, report, sequence } from 'k6/x/omnigraph';
import { number, numbers, target } from './lib/target.js';
import { insertMany, loadRows, pointRead } from './lib/council.js';
import { begin, described, leave, needKeys, optimizeNow, pick, round, sized, stepScenarios, tell, warmUp } from './lib/scenario.js';

const presets = {
  short: { sizes: [1, 8, 64, 512, 2048], commits: 20, reads: 40 },
  full: { sizes: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096], commits: 40, reads: 200 },
};
const where = target(__ENV);
const chosen = sized(__ENV, 'BATCH', presets);
const size = {
  sizes: numbers(__ENV, 'BATCH_SIZES', chosen.sizes),
  commits: number(__ENV, 'BATCH_COMMITS', chosen.commits, 1),
  reads: number(__ENV, 'BATCH_READS', chosen.reads, 1),
  mutateMax: number(__ENV, 'BATCH_MUTATE_MAX', 512, 1),
};
const forms = (__ENV.BATCH_FORMS || 'mutate,load').split(',').map((s) => s.trim());
for (const form of forms) {
  if (form !== 'mutate' && form !== 'load') {
    throw new Error(`BATCH_FORMS got "${form}"; it takes a list of mutate and load`);
  }
}
const optimizes = Boolean(where.store) && where.mayWrite;

const steps = [];
for (const rows of size.sizes) {
  for (const form of forms) {
    if (form === 'load' || rows <= size.mutateMax) {
      steps.push({ name: `${form}_${rows}`, of: 1, workers: 1, run: 'batch', form, rows });
    }
  }
}
const byName = Object.fromEntries(steps.map((s) => [s.name, s]));
const turns = sequence('batch-writes', steps.map((s) => s.name));

const rec = record({
  name: 'batch-writes',
  dir: __ENV.RESULTS_DIR || 'results/batch-writes',
  dataset: where.dataset,
  system: where.system,
  settings: { preset: chosen.preset, ...size, forms },
  run: described(where, {
    state: { f1_fragmentation: optimizes ? 'optimized_before_each_size' : 'as_found' },
    workload: { operations: forms.join('+'), delta_size: size.sizes.join('/'), contention: 'distinct-key', arrival: 'closed', clients: '1' },
    protocol: { schedule: 'closed', repetitions: String(size.commits) },
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
    'omnigraph_op_failed{op:load}': ['rate<0.01'],
    'omnigraph_affected{entity:node}': ['count>0'],
  },
};

const http = new HTTPClient({ url: where.uri, graph: where.graph, token: where.token, timeout: '300s' });
const cli = new CLIClient({ server: where.uri, graph: where.graph, token: where.token, bin: where.bin, store: where.store, timeout: '600s' });

export function setup() {
  const data = begin(where, http, rec, { writes: true, optimizes: true });
  needKeys(data, where);
  return data;
}

function write(step, prefix, project) {
  const keys = Array.from({ length: step.rows }, (_, i) => `${prefix}-${i}`);
  if (step.form === 'load') {
    return http.load(loadRows(keys, project), { mode: 'append', name: step.name });
  }
  const { gq, params } = insertMany(keys, project);
  return http.mutate(gq, params, { name: step.name });
}

function timedReads(data, name) {
  const ms = [];
  for (let i = 0; i < size.reads; i += 1) {
    const res = http.query(pointRead, { slug: pick(data.keys, i) }, { name });
    if (res.ok) {
      ms.push(round(res.duration));
    }
  }
  return ms;
}

export function batch(data) {
  const step = byName[exec.scenario.name];
  turns.turn(step.name, { of: 1, workers: 1 }, () => {
    const prefix = `batch-${data.id}-${step.name}`;
    if (optimizes) {
      optimizeNow(http, cli, rec, `before ${step.name}`);
    }
    warmUp((i) => http.query(pointRead, { slug: pick(data.keys, i) }));
    warmUp((i) => write(step, `${prefix}-w${i}`, data.project), 1);
    const before = timedReads(data, 'read_before');
    const ms = [];
    let failed = 0;
    for (let n = 0; n < size.commits; n += 1) {
      const res = write(step, `${prefix}-${n}`, data.project);
      if (res.ok) {
        ms.push(round(res.duration));
      } else {
        failed += 1;
        tell(step.name, res.error);
        if (failed >= 3) {
          break;
        }
      }
    }
    const after = timedReads(data, 'read_after');
    rec.extra(`batch:${step.name}`, { form: step.form, rows: step.rows, ms, failed, before, after, optimizes });
  });
}

export function teardown(data) {
  leave(where, http, cli, rec, data);
}

export function handleSummary(data) {
  return report(data);
}
