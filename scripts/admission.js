// Where does the server's per-actor admission cap bite, and how should clients back off?
//
// A burst of concurrent inserts by one actor shows how many the server lets in and what it tells the others; the same burst
// spread over several actors shows that the cap is a policy per actor. Then as many clients have one insert each to deliver,
// under three ways to wait after a refusal: at once again, exponential with jitter, and (where the server asks for at most
// ADMISSION_PATIENCE seconds) as long as Retry-After says.
//
//   bin/k6 x omnigraph rig run -- bin/k6 run scripts/admission.js
//   OMNIGRAPH_PER_ACTOR_INFLIGHT_MAX=4 bin/k6 x omnigraph rig run -- bin/k6 run scripts/admission.js
//
// Environment: ADMISSION_PRESET or PRESET = short|full, ADMISSION_BURST (default 24), ADMISSION_ROUNDS, ADMISSION_PATIENCE,
// ALLOW_WRITES=1, OMNIGRAPH_URI, OMNIGRAPH_GRAPH, OMNIGRAPH_TOKEN, OMNIGRAPH_TOKENS or OMNIGRAPH_TOKENS_FILE (other actors),
// OMNIGRAPH_BIN, OMNIGRAPH_STORE, RESULTS_DIR.
import exec from 'k6/execution';
import { setTimeout } from 'k6/timers';
import { CLIClient, HTTPClient, record, report, sequence } from 'k6/x/omnigraph';
import { number, target } from './lib/target.js';
import { actorTokens } from './lib/actors.js';
import { insertRow, row } from './lib/council.js';
import { begin, compacted, described, leave, optimizeNow, round, sized, stepScenarios } from './lib/scenario.js';

const presets = {
  short: { rounds: 1, patience: 5 },
  full: { rounds: 5, patience: 90 },
};
const where = target(__ENV);
const chosen = sized(__ENV, 'ADMISSION', presets);
const size = {
  burst: number(__ENV, 'ADMISSION_BURST', 24, 2),
  rounds: number(__ENV, 'ADMISSION_ROUNDS', chosen.rounds, 1),
  patience: number(__ENV, 'ADMISSION_PATIENCE', chosen.patience, 0),
};
const tokens = actorTokens(__ENV, where, 8) || [];
const names = ['burst', tokens.length > 1 && 'spread', 'at_once', 'backoff', 'as_told'].filter(Boolean);
const steps = names.map((name) => ({ name, run: name === 'burst' || name === 'spread' ? 'burst' : 'deliver', of: size.rounds, workers: 1 }));
const turns = sequence('admission', names);

const rec = record({
  name: 'admission',
  dir: __ENV.RESULTS_DIR || 'results/admission',
  dataset: where.dataset,
  system: where.system,
  settings: { preset: chosen.preset, ...size, actors: tokens.length },
  // Refusals are what these scenarios are there to provoke.
  probes: names,
  run: described(where, {
    state: compacted(where, 'before_each_step'),
    workload: { operations: 'insert', delta_size: '1', contention: 'distinct-key', arrival: 'burst', clients: String(size.burst) },
    protocol: { schedule: 'closed', repetitions: String(size.rounds) },
  }),
});

export const options = {
  scenarios: stepScenarios(steps),
  summaryTrendStats: ['min', 'med', 'p(95)', 'max', 'count'],
  setupTimeout: '2m',
  teardownTimeout: '10m',
  thresholds: {
    'omnigraph_ops': ['count>0'],
    'omnigraph_errors{error_kind:admission_capped}': ['count>=0'],
  },
};

const http = new HTTPClient({ url: where.uri, graph: where.graph, token: where.token, timeout: '120s' });
const cli = new CLIClient({ server: where.uri, graph: where.graph, token: where.token, bin: where.bin, store: where.store, timeout: '600s' });

export function setup() {
  return begin(where, http, rec, { writes: true });
}

const pause = (ms) => new Promise((resolve) => {
  setTimeout(resolve, ms);
});
let rounds = 0;

// inRound counts a step's turns around asynchronous work, which a turn itself can't wait for.
async function inRound(fn) {
  const name = exec.scenario.name;
  if (rounds === 0) {
    turns.turn(name, { of: size.rounds + 1, workers: 1 }, () => {
      if (where.store && where.mayWrite) {
        optimizeNow(http, cli, rec, name);
      }
    });
  }
  rounds += 1;
  try {
    await fn(name);
  } finally {
    turns.turn(name, { of: size.rounds + 1, workers: 1 }, () => {});
  }
}

const key = (data, name, i) => `admission-${data.id}-${name}-${rounds}-${i}`;

const bursts = [];
export async function burst(data) {
  await inRound(async (name) => {
    const results = await Promise.all(Array.from({ length: size.burst }, (_, i) => {
      const options = name === 'spread' ? { token: tokens[i % tokens.length] } : {};
      return http.asyncMutate(insertRow, row(key(data, name, i), data.project), options);
    }));
    const refused = results.filter((r) => !r.ok && r.error.kind === 'admission_capped');
    bursts.push({
      sent: size.burst,
      admitted: results.filter((r) => r.ok).length,
      refused: refused.length,
      other: results.filter((r) => !r.ok && r.error.kind !== 'admission_capped').length,
      retryAfter: refused.length > 0 && refused[0].error.retryAfter !== null ? refused[0].error.retryAfter / 1000 : 0,
      message: refused.length > 0 ? refused[0].error.message : '',
    });
    rec.extra(`admission:${name}`, { actors: name === 'spread' ? tokens.length : 1, bursts });
  });
}

const deliveries = [];
export async function deliver(data) {
  await inRound(async (name) => {
    const begun = Date.now();
    const clients = await Promise.all(Array.from({ length: size.burst }, async (_, i) => {
      let asked = 0;
      for (let attempt = 1; ; attempt += 1) {
        const res = await http.asyncMutate(insertRow, row(key(data, name, i), data.project));
        if (res.ok || res.error.kind !== 'admission_capped') {
          return { delivered: res.ok, attempts: attempt, seconds: (Date.now() - begun) / 1000, asked };
        }
        asked = Math.max(asked, (res.error.retryAfter || 0) / 1000);
        if (name === 'as_told' && asked > size.patience) {
          return { delivered: false, attempts: attempt, seconds: (Date.now() - begun) / 1000, asked };
        }
        const wait = { at_once: 20, backoff: Math.random() * Math.min(2000, 100 * 2 ** attempt), as_told: asked * 1000 }[name];
        await pause(wait);
      }
    }));
    deliveries.push({
      clients: size.burst,
      delivered: clients.filter((c) => c.delivered).length,
      attempts: clients.reduce((sum, c) => sum + c.attempts, 0),
      seconds: round(Math.max(...clients.map((c) => c.seconds))),
      asked: Math.max(...clients.map((c) => c.asked)),
    });
    rec.extra(`admission:${name}`, { patience: size.patience, deliveries });
  });
}

export function teardown(data) {
  leave(where, http, cli, rec, data);
}

export function handleSummary(data) {
  return report(data);
}
