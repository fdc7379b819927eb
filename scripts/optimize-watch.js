// Is the maintenance job running that optimizes the store?
//
// Over HTTP only, and it writes nothing: the commits that optimize made stand in the history without an actor. The watch
// counts the users' commits since the last of them, how long ago that was and how regularly it happens, and times point
// reads while it watches. The report answers yes, no or unknown, with the evidence.
//
//   OMNIGRAPH_URI=https://… OMNIGRAPH_TOKEN=… bin/k6 run scripts/optimize-watch.js
//
// Environment: WATCH_PRESET or PRESET = short|full, WATCH_SECONDS, WATCH_EVERY (seconds between two looks), WATCH_EXPECT_MINUTES
// (how often the job should run, default 60), WATCH_MAX_COMMITS (how many commits may wait for it, default 100),
// OMNIGRAPH_URI, OMNIGRAPH_GRAPH, OMNIGRAPH_TOKEN, RESULTS_DIR.
import exec from 'k6/execution';
import { sleep } from 'k6';
import { HTTPClient, record, report } from 'k6/x/omnigraph';
import { number, target } from './lib/target.js';
import { pointRead } from './lib/council.js';
import { begin, described, needKeys, pick, round, sized, tell, warmUp } from './lib/scenario.js';

const presets = {
  short: { seconds: 20, every: 2 },
  full: { seconds: 3600, every: 30 },
};
const where = target(__ENV);
const chosen = sized(__ENV, 'WATCH', presets);
const size = {
  seconds: number(__ENV, 'WATCH_SECONDS', chosen.seconds, 1),
  every: number(__ENV, 'WATCH_EVERY', chosen.every, 1),
  expectMinutes: number(__ENV, 'WATCH_EXPECT_MINUTES', 60, 1),
  maxCommits: number(__ENV, 'WATCH_MAX_COMMITS', 100, 1),
};

const rec = record({
  name: 'optimize-watch',
  dir: __ENV.RESULTS_DIR || 'results/optimize-watch',
  dataset: where.dataset,
  system: where.system,
  settings: { preset: chosen.preset, ...size },
  run: described(where, {
    state: { f1_fragmentation: 'as_found' },
    workload: { operations: 'point_read+commits', arrival: 'closed', clients: '1' },
    protocol: { schedule: 'closed', repetitions: '1' },
  }),
});

export const options = {
  scenarios: {
    watch: {
      executor: 'shared-iterations', exec: 'watch', vus: 1, iterations: Math.max(1, Math.floor(size.seconds / size.every)),
      maxDuration: `${size.seconds * 3 + 60}s`, gracefulStop: '10s', tags: { workers: '1', phase: 'measure' },
    },
  },
  summaryTrendStats: ['min', 'med', 'p(95)', 'max', 'count'],
  setupTimeout: '2m',
  teardownTimeout: '2m',
  thresholds: { 'omnigraph_op_failed': ['rate<0.01'] },
};

const http = new HTTPClient({ url: where.uri, graph: where.graph, token: where.token, timeout: '60s' });

export function setup() {
  const data = begin(where, http, rec);
  needKeys(data, where);
  return data;
}

const reads = { commits: [], ms: [] };
let looks = 0;
let first;

export function watch(data) {
  looks += 1;
  if (looks === 1) {
    warmUp((i) => http.query(pointRead, { slug: pick(data.keys, i) }));
  }
  const res = http.commits();
  if (!res.ok) {
    tell('the history could not be read', res.error);
    sleep(size.every);
    return;
  }
  // Newest first; made by the system itself where there is no actor. The first look's history is enough for the evidence.
  const rows = res.rows.slice(0, 5000);
  const history = rows.map((c) => ({ at: c.createdAt / 1e6, system: c.actorId === null }));
  first = first || history.length;
  const since = rows.findIndex((c) => c.actorId === null);
  const waiting = since < 0 ? rows.length : since;
  for (let i = 0; i < 10; i += 1) {
    const read = http.query(pointRead, { slug: pick(data.keys, looks * 10 + i) });
    if (read.ok) {
      reads.commits.push(waiting);
      reads.ms.push(round(read.duration));
    }
  }
  // An optimize is a commit of the system's with users' commits right before it; the first load of a store has none.
  const optimizes = [];
  let last = null;
  for (const c of history) {
    if (c.system) {
      last = { at: c.at, users: 0 };
    } else if (last) {
      last.users += 1;
      if (last.users === 1) {
        optimizes.push(last);
      }
    }
  }
  rec.extra('watch', {
    now: Date.now() / 1000, total: history.length, waiting, system: history.filter((c) => c.system).length,
    optimizes: optimizes.slice(0, 50), newest: history.length > 0 ? history[0].at : 0, during: history.length - first,
    reads, expectMinutes: size.expectMinutes, maxCommits: size.maxCommits, seconds: Math.round(exec.instance.currentTestRunDuration / 1000),
  });
  sleep(size.every);
}

export function teardown() {
  rec.after(http);
}

export function handleSummary(data) {
  return report(data);
}
