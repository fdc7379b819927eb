// How many concurrent writers does the store stand?
//
// More and more writers commit for a few seconds each: single-row inserts of distinct keys, and updates of one and the
// same row, where the losers of a race are told to retry and do. The store is optimized before every level where it can
// be, so that no level pays for the commits of another. From six levels on the report fits the Universal Scalability Law.
//
//   bin/k6 x omnigraph rig run -- bin/k6 run scripts/writers.js
//
// Environment: WRITERS_PRESET or PRESET = short|full, WRITERS_LEVELS (1,2,3,4,6,8), WRITERS_SAME_LEVELS, WRITERS_SECONDS (a
// level's length), WRITERS_ROUNDS, WRITERS_ACTORS (over how many actors the writers are spread, default 1: one actor may
// have 16 mutations in flight), ALLOW_WRITES=1, OMNIGRAPH_URI, OMNIGRAPH_GRAPH, OMNIGRAPH_TOKEN, OMNIGRAPH_TOKENS or
// OMNIGRAPH_TOKENS_FILE, OMNIGRAPH_BIN, OMNIGRAPH_STORE (for optimize), NOISE_FLOOR, RESULTS_DIR.
import exec from 'k6/execution';
import { CLIClient, HTTPClient, record, report, sequence } from 'k6/x/omnigraph';
import { number, numbers, target } from './lib/target.js';
import { actorTokens } from './lib/actors.js';
import { insertRow, row, setImportance } from './lib/council.js';
import { begin, described, leave, needKeys, optimizeNow, sized, stepScenarios, tell } from './lib/scenario.js';

const presets = {
  short: { levels: [1, 2, 3, 4, 6, 8], same: [1, 2, 4, 8], seconds: 4, rounds: 1 },
  full: { levels: [1, 2, 3, 4, 6, 8, 12, 16], same: [1, 2, 4, 8, 16], seconds: 15, rounds: 3 },
};
const where = target(__ENV);
const chosen = sized(__ENV, 'WRITERS', presets);
const size = {
  levels: numbers(__ENV, 'WRITERS_LEVELS', chosen.levels),
  same: numbers(__ENV, 'WRITERS_SAME_LEVELS', chosen.same),
  seconds: number(__ENV, 'WRITERS_SECONDS', chosen.seconds, 1),
  rounds: number(__ENV, 'WRITERS_ROUNDS', chosen.rounds, 1),
  actors: number(__ENV, 'WRITERS_ACTORS', 1, 1),
};
const optimizes = Boolean(where.store) && where.mayWrite;

const steps = [];
for (let round = 1; round <= size.rounds; round += 1) {
  // Every other round goes down instead of up, so that what the run itself does to the store hits no level alone.
  const order = (levels) => (round % 2 === 1 ? levels : [...levels].reverse());
  for (const [kind, levels] of [['distinct', order(size.levels)], ['same', order(size.same)]]) {
    for (const n of levels) {
      if (optimizes) {
        steps.push({ name: `optimize_${kind}_r${round}_${n}`, of: 1, workers: 1, run: 'optimize' });
      }
      steps.push({ name: `${kind}_r${round}_${n}`, of: n, workers: n, run: kind, each: true });
    }
  }
}
const byName = Object.fromEntries(steps.map((s) => [s.name, s]));
const turns = sequence('writers', steps.map((s) => s.name));

const rec = record({
  name: 'writers',
  dir: __ENV.RESULTS_DIR || 'results/writers',
  dataset: where.dataset,
  system: where.system,
  settings: { preset: chosen.preset, ...size },
  run: described(where, {
    state: { f1_fragmentation: optimizes ? 'optimized_before_each_level' : 'as_found' },
    workload: { operations: 'insert+update', delta_size: '1', contention: 'distinct-key+same-key', arrival: 'closed', clients: size.levels.join('/') },
    protocol: { schedule: 'closed', repetitions: String(size.rounds), deadline: '120s' },
  }),
});

export const options = {
  scenarios: stepScenarios(steps),
  summaryTrendStats: ['min', 'med', 'p(95)', 'max', 'count'],
  setupTimeout: '2m',
  teardownTimeout: '10m',
  thresholds: {
    'omnigraph_op_failed{op:mutate}': ['rate<0.01'],
    'omnigraph_errors': ['count>=0'],
    'omnigraph_retries': ['count>=0'],
  },
};

// The losers of a race for one row retry at once, as the server asks; the wait between grows and is random.
/** @type {import('k6/x/omnigraph').Retry} */
const retry = { maxAttempts: 100, maxElapsed: '100s', baseDelay: '5ms', maxDelay: '500ms', kinds: ['conflict_stale'] };
const http = new HTTPClient({ url: where.uri, graph: where.graph, token: actorTokens(__ENV, where, size.actors), timeout: '120s', retry });
const cli = new CLIClient({ server: where.uri, graph: where.graph, token: where.token, bin: where.bin, store: where.store, timeout: '600s' });

export function setup() {
  const data = begin(where, http, rec, { writes: true, optimizes: true });
  needKeys(data, where);
  const contested = `writers-${data.id}-contested`;
  const res = http.mutate(insertRow, row(contested, data.project));
  if (!res.ok) {
    exec.test.abort(`the row that writers will race for could not be made: ${res.error.message}`);
  }
  return { ...data, contested };
}

// forAWhile repeats an operation until the level's time is over; in the warm-up it is done once.
function forAWhile(op) {
  const step = byName[exec.scenario.name];
  turns.turn(step.name, { of: step.of, workers: step.workers, warmup: 1 }, () => {
    if (exec.vu.tags.phase === 'warmup') {
      op();
      return;
    }
    const end = Date.now() + size.seconds * 1000;
    while (Date.now() < end) {
      const res = op();
      if (!res.ok) {
        tell(step.name, res.error);
      }
    }
  });
}

let written = 0;
export function distinct(data) {
  forAWhile(() => {
    written += 1;
    return http.mutate(insertRow, row(`writers-${data.id}-${exec.vu.idInTest}-${written}`, data.project));
  });
}

export function same(data) {
  forAWhile(() => {
    written += 1;
    return http.mutate(setImportance, { slug: data.contested, importance: written });
  });
}

export function optimize() {
  turns.turn(exec.scenario.name, { of: 1, workers: 1 }, () => {
    optimizeNow(http, cli, rec, exec.scenario.name);
  });
}

export function teardown(data) {
  leave(where, http, cli, rec, data);
}

export function handleSummary(data) {
  return report(data);
}
