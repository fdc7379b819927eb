// Does the store keep its promises under load?
//
// Concurrent writers and readers hold the server to six promises, and count what breaks them: every acknowledged write is
// there exactly once; a key is unique, also when several insert it at the same moment; no acknowledged update is lost; a
// commit is seen whole or not at all; reads see one's own acknowledged writes, and never go back. A broken promise is a
// finding about the server, not a failure of the run (INTEGRITY_STRICT=1 makes it one).
//
//   bin/k6 x omnigraph rig run -- bin/k6 run scripts/integrity.js
//
// Environment: INTEGRITY_PRESET or PRESET = short|full, INTEGRITY_ROUNDS, INTEGRITY_WRITERS (concurrent operations, default 8:
// one actor may have 16 mutations in flight), INTEGRITY_STRICT=1, ALLOW_WRITES=1, OMNIGRAPH_URI, OMNIGRAPH_GRAPH,
// OMNIGRAPH_TOKEN, OMNIGRAPH_BIN, OMNIGRAPH_STORE, RESULTS_DIR.
import exec from 'k6/execution';
import { Counter } from 'k6/metrics';
import { CLIClient, HTTPClient, record, report, sequence } from 'k6/x/omnigraph';
import { flag, number, target } from './lib/target.js';
import { insertMany, insertRow, keysOf, pointRead, row, setImportance } from './lib/council.js';
import { begin, compacted, described, leave, optimizeNow, sized, stepScenarios } from './lib/scenario.js';

const presets = {
  short: { rounds: 6 },
  full: { rounds: 25 },
};
const where = target(__ENV);
const chosen = sized(__ENV, 'INTEGRITY', presets);
const rounds = number(__ENV, 'INTEGRITY_ROUNDS', chosen.rounds, 1);
const strict = flag(__ENV, 'INTEGRITY_STRICT');
const writers = number(__ENV, 'INTEGRITY_WRITERS', 8, 2);
const promises = ['once', 'unique', 'updates', 'whole', 'own_writes', 'never_back'];
const steps = promises.map((name) => ({ name, run: name, of: rounds, workers: 1 }));
const turns = sequence('integrity', promises);
const violations = new Counter('integrity_violations');

const rec = record({
  name: 'integrity',
  dir: __ENV.RESULTS_DIR || 'results/integrity',
  dataset: where.dataset,
  system: where.system,
  settings: { preset: chosen.preset, rounds, writers },
  run: described(where, {
    state: compacted(where, 'before_each_promise'),
    workload: { operations: 'insert+update+read', delta_size: '1', contention: 'same-key+distinct-key', arrival: 'closed', clients: String(writers) },
    protocol: { schedule: 'closed', repetitions: String(rounds) },
  }),
});

export const options = {
  scenarios: stepScenarios(steps),
  summaryTrendStats: ['min', 'med', 'p(95)', 'max', 'count'],
  setupTimeout: '2m',
  teardownTimeout: '10m',
  thresholds: {
    'omnigraph_ops': ['count>0'],
    'integrity_violations': [strict ? 'count==0' : 'count>=0'],
  },
};

/** @type {import('k6/x/omnigraph').Retry} */
const retry = { maxAttempts: 100, maxElapsed: '60s', baseDelay: '5ms', maxDelay: '300ms', kinds: ['conflict_stale'] };
const http = new HTTPClient({ url: where.uri, graph: where.graph, token: where.token, timeout: '120s', retry });
// Another connection of its own, as another client would have.
const other = new HTTPClient({ url: where.uri, graph: where.graph, token: where.token, timeout: '120s', pool: 'shared', retry });
const cli = new CLIClient({ server: where.uri, graph: where.graph, token: where.token, bin: where.bin, store: where.store, timeout: '600s' });

const setTitle = `query set_title($slug: String, $title: String) {
  update Memory set { title: $title } where slug = $slug
}`;
const readAll = `query read_all($project: String) {
  match { $m: Memory { project: $project } }
  return { $m.slug }
}`;

export function setup() {
  return begin(where, http, rec, { writes: true });
}

// What each promise came to; one VU makes all rounds of a promise.
const found = { checked: 0, broken: 0, unknown: 0, examples: [] };
let round = 0;

function saw(ok, example) {
  found.checked += 1;
  if (!ok) {
    found.broken += 1;
    violations.add(1, { promise: exec.scenario.name });
    if (found.examples.length < 3) {
      found.examples.push(example());
    }
  }
}

// inRound does one round and keeps what the rounds came to so far. A turn can't wait for a promise, so the step's turns
// are counted once the round is over.
async function inRound(fn) {
  const name = exec.scenario.name;
  if (round === 0) {
    turns.turn(name, { of: rounds + 1, workers: 1 }, () => {
      if (where.store && where.mayWrite) {
        optimizeNow(http, cli, rec, name);
      }
    });
  }
  round += 1;
  try {
    await fn();
  } finally {
    rec.extra(`integrity:${name}`, { ...found, rounds: round, writers });
    turns.turn(name, { of: rounds + 1, workers: 1 }, () => {});
  }
}

const names = (data, what) => Array.from({ length: writers }, (_, i) => `integrity-${data.id}-${what}-${round}-${i}`);

// once: every acknowledged insert of a key of its own is there exactly once.
export async function once(data) {
  await inRound(async () => {
    const keys = names(data, 'once');
    const results = await Promise.all(keys.map((key) => http.asyncMutate(insertRow, row(key, data.project))));
    for (let i = 0; i < keys.length; i += 1) {
      const n = rowsOf(keys[i]).length;
      if (results[i].ok) {
        saw(n === 1, () => `${keys[i]} was acknowledged and is there ${n} times`);
      } else if (results[i].error.indeterminate) {
        found.unknown += 1;
      } else {
        saw(n === 0, () => `${keys[i]} was refused (${results[i].error.kind}) and is there ${n} times`);
      }
    }
  });
}

function rowsOf(key) {
  const res = other.query(pointRead, { slug: key });
  if (!res.ok) {
    throw new Error(`${key} could not be read: ${res.error.message}`);
  }
  return res.rows;
}

// unique: several insert the same new key at the same moment; it may be there once, whoever was acknowledged.
export async function unique(data) {
  await inRound(async () => {
    const key = `integrity-${data.id}-unique-${round}`;
    const results = await Promise.all(Array.from({ length: writers }, () => http.asyncMutate(insertRow, row(key, data.project))));
    const acknowledged = results.filter((r) => r.ok).length;
    const n = rowsOf(key).length;
    saw(n <= 1, () => `${writers} concurrent inserts of ${key}: ${acknowledged} acknowledged, ${n} rows with this key`);
  });
}

// updates: two update different properties of one row at the same moment; once both are acknowledged, both are there.
export async function updates(data) {
  await inRound(async () => {
    const keys = names(data, 'updates').slice(0, Math.max(1, Math.floor(writers / 4)));
    const made = http.mutate(insertMany(keys, data.project).gq, insertMany(keys, data.project).params);
    if (!made.ok) {
      throw new Error(`the rows to update could not be made: ${made.error.message}`);
    }
    const results = await Promise.all(keys.flatMap((slug) => [
      http.asyncMutate(setImportance, { slug, importance: round + 100 }),
      http.asyncMutate(setTitle, { slug, title: `title of round ${round}` }),
    ]));
    keys.forEach((slug, i) => {
      const [a, b] = [results[2 * i], results[2 * i + 1]];
      if (!a.ok || !b.ok) {
        found.unknown += 1;
        return;
      }
      const got = rowsOf(slug)[0];
      const kept = got && got['m.importance'] === round + 100 && got['m.title'] === `title of round ${round}`;
      saw(Boolean(kept), () => `${slug}: both updates were acknowledged, the row has importance ${got && got['m.importance']} and title "${got && got['m.title']}"`);
    });
  });
}

// whole: a commit of several rows is seen whole or not at all by whoever reads meanwhile.
export async function whole(data) {
  await inRound(async () => {
    const keys = names(data, 'whole');
    const { gq, params } = insertMany(keys, data.project);
    let over = false;
    const write = http.asyncMutate(gq, params).then((res) => {
      over = true;
      return res;
    });
    const prefix = `integrity-${data.id}-whole-${round}-`;
    do {
      const res = await other.asyncQuery(readAll, { project: data.project });
      if (res.ok) {
        const n = res.rows.filter((r) => r['m.slug'].startsWith(prefix)).length;
        saw(n === 0 || n === keys.length, () => `${n} of the ${keys.length} rows of one commit were seen`);
      }
    } while (!over);
    const res = await write;
    if (res.ok) {
      const n = keysOf(other, prefix).length;
      saw(n === keys.length, () => `${n} of the ${keys.length} rows of an acknowledged commit are there`);
    } else {
      found.unknown += 1;
    }
  });
}

// own_writes: right after a write is acknowledged its value is read, on the same and on another connection.
export async function own_writes(data) {
  await inRound(async () => {
    const keys = names(data, 'own');
    await Promise.all(keys.map(async (slug) => {
      const made = await http.asyncMutate(insertRow, row(slug, data.project));
      for (const { client, name } of [{ client: http, name: 'the same client' }, { client: other, name: 'another client' }]) {
        if (made.ok) {
          const res = await client.asyncQuery(pointRead, { slug });
          if (res.ok) {
            saw(res.rowCount >= 1, () => `${slug} was acknowledged and not seen by ${name}`);
          }
        }
      }
    }));
  });
}

// never_back: while one writer counts a value up, no reader sees it fall, nor below what was acknowledged before it read.
export async function never_back(data) {
  await inRound(async () => {
    const slug = `integrity-${data.id}-back-${round}`;
    const made = http.mutate(insertRow, row(slug, data.project));
    if (!made.ok) {
      throw new Error(`the row to count up could not be made: ${made.error.message}`);
    }
    let acknowledged = 1;
    let over = false;
    const write = (async () => {
      for (let v = 2; v <= 8; v += 1) {
        const res = await http.asyncMutate(setImportance, { slug, importance: v });
        if (res.ok) {
          acknowledged = v;
        }
      }
      over = true;
    })();
    const reader = async (client, name) => {
      let last = 0;
      while (!over) {
        const least = acknowledged;
        const res = await client.asyncQuery(pointRead, { slug });
        if (res.ok) {
          const v = res.rowCount > 0 ? res.rows[0]['m.importance'] : 0;
          saw(v >= last && v >= least, () => `${name} read ${v} after ${last}, when ${least} had been acknowledged`);
          last = v;
        }
      }
    };
    await Promise.all([write, reader(http, 'a reader'), reader(other, 'a reader on another connection'), reader(other, 'a second reader')]);
  });
}

export function teardown(data) {
  leave(where, http, cli, rec, data);
}

export function handleSummary(data) {
  return report(data);
}
