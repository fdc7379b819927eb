// What does a restart of the server cost its clients, and does it lose or double their writes?
//
// One client reads and writes all the time while somebody restarts the server; nothing here does that. The report says how
// many seconds reads and writes were unavailable, how the failures looked, and then compares what is in the store with
// what was acknowledged, refused, or of unknown outcome.
//
//   bin/k6 x omnigraph rig make DIR && bin/k6 x omnigraph rig up DIR && eval "$(bin/k6 x omnigraph rig env DIR)"
//   bin/k6 run scripts/outage.js &
//   sleep 15; bin/k6 x omnigraph rig down DIR; sleep 5; bin/k6 x omnigraph rig up DIR; wait
//
// Environment: OUTAGE_PRESET or PRESET = short|full, OUTAGE_SECONDS (how long to watch), OUTAGE_TIMEOUT_MS (of one operation,
// default 2000), OUTAGE_EVERY_MS (between two probes, default 100), OUTAGE_WRITE_EVERY (every n-th probe also writes, default
// 5), ALLOW_WRITES=1 (else reads only), OMNIGRAPH_URI, OMNIGRAPH_GRAPH, OMNIGRAPH_TOKEN, OMNIGRAPH_BIN, OMNIGRAPH_STORE,
// RESULTS_DIR.
import { sleep } from 'k6';
import exec from 'k6/execution';
import { CLIClient, HTTPClient, record, report } from 'k6/x/omnigraph';
import { number, target } from './lib/target.js';
import { insertRow, pointRead, row } from './lib/council.js';
import { begin, described, leave, needKeys, pick, sized } from './lib/scenario.js';

const presets = {
  short: { seconds: 45 },
  full: { seconds: 600 },
};
const where = target(__ENV);
const chosen = sized(__ENV, 'OUTAGE', presets);
const size = {
  seconds: number(__ENV, 'OUTAGE_SECONDS', chosen.seconds, 1),
  timeout: number(__ENV, 'OUTAGE_TIMEOUT_MS', 2000, 1),
  every: number(__ENV, 'OUTAGE_EVERY_MS', 100, 1),
  writeEvery: number(__ENV, 'OUTAGE_WRITE_EVERY', 5, 1),
};

const rec = record({
  name: 'outage',
  dir: __ENV.RESULTS_DIR || 'results/outage',
  dataset: where.dataset,
  system: where.system,
  settings: { preset: chosen.preset, ...size },
  // Failures are what this scenario waits for.
  probes: ['outage'],
  run: described(where, {
    workload: { operations: where.mayWrite ? 'point_read+insert' : 'point_read', delta_size: '1', contention: 'distinct-key', arrival: 'closed', clients: '1' },
    protocol: { schedule: 'closed', deadline: `${size.timeout}ms`, repetitions: '1' },
  }),
});

export const options = {
  scenarios: {
    outage: {
      executor: 'per-vu-iterations', exec: 'watch', vus: 1, iterations: 1, maxDuration: `${size.seconds + 300}s`, gracefulStop: '10s',
      tags: { workers: '1', phase: 'measure' },
    },
  },
  summaryTrendStats: ['min', 'med', 'p(95)', 'max', 'count'],
  setupTimeout: '2m',
  teardownTimeout: '10m',
  thresholds: {
    'omnigraph_ops': ['count>0'],
    'omnigraph_errors': ['count>=0'],
  },
};

const http = new HTTPClient({ url: where.uri, graph: where.graph, token: where.token, timeout: `${size.timeout}ms` });
const cli = new CLIClient({ server: where.uri, graph: where.graph, token: where.token, bin: where.bin, store: where.store, timeout: '600s' });

const written = `query written($project: String) {
  match { $m: Memory { project: $project } }
  return { $m.slug }
}`;

export function setup() {
  const data = begin(where, http, rec);
  needKeys(data, where);
  if (!where.mayWrite) {
    console.warn('reads only: writing is left out on a store that is no rig (ALLOW_WRITES=1 allows it)');
  }
  return data;
}

// follow keeps the outages of one kind of operation: from the first failure to the next success, or to the end.
function follow(name, outages) {
  let current = null;
  const end = () => {
    if (current) {
      const took = Date.now() - current.begun;
      rec.event('outage', `${name} unavailable`, took);
      outages.push({ seconds: took / 1000, failed: current.failed, kinds: current.kinds });
      current = null;
    }
  };
  const saw = (res, begun) => {
    if (res.ok) {
      end();
      return;
    }
    if (!current) {
      console.info(`${name}: ${res.error.kind}: ${res.error.message}`);
      current = { begun, failed: 0, kinds: {} };
    }
    current.failed += 1;
    current.kinds[res.error.kind] = (current.kinds[res.error.kind] || 0) + 1;
  };
  return { saw, end };
}

export function watch(data) {
  const found = { seconds: size.seconds, reads: [], writes: [] };
  const reads = follow('reads', found.reads);
  const writes = follow('writes', found.writes);
  const sent = [];
  console.info(`watching for ${size.seconds} s: restart the server now`);
  const end = Date.now() + size.seconds * 1000;
  for (let i = 0; Date.now() < end; i += 1) {
    let begun = Date.now();
    reads.saw(http.query(pointRead, { slug: pick(data.keys, i) }), begun);
    if (where.mayWrite && i % size.writeEvery === 0) {
      const slug = `outage-${data.id}-${sent.length}`;
      begun = Date.now();
      const res = http.mutate(insertRow, row(slug, data.project));
      sent.push({ slug, outcome: res.ok ? 'acknowledged' : res.error.indeterminate ? 'unknown' : 'refused' });
      writes.saw(res, begun);
    }
    rec.extra('outage', found);
    sleep(size.every / 1000);
  }
  reads.end();
  writes.end();
  found.sent = sent.length;
  if (where.mayWrite) {
    compareWithStore(data, found, sent);
  }
  rec.extra('outage', found);
}

// compareWithStore waits until the server answers again and counts what became of each write.
function compareWithStore(data, found, sent) {
  const patience = Date.now() + 240 * 1000;
  const readBack = () => http.query(written, { project: data.project }, { timeout: '60s', name: 'verify' });
  const phase = exec.vu.tags.phase;
  exec.vu.tags.phase = 'warmup'; // no part of the measurement
  let res = readBack();
  while (!res.ok && Date.now() < patience) {
    sleep(1);
    res = readBack();
  }
  exec.vu.tags.phase = phase;
  if (!res.ok) {
    console.error(`what was written could not be read back: ${res.error.message}`);
    return;
  }
  const times = {};
  for (const r of res.rows) {
    times[r['m.slug']] = (times[r['m.slug']] || 0) + 1;
  }
  found.outcomes = {};
  for (const outcome of ['acknowledged', 'refused', 'unknown']) {
    const of = sent.filter((w) => w.outcome === outcome);
    found.outcomes[outcome] = {
      sent: of.length,
      there: of.filter((w) => times[w.slug] === 1).length,
      missing: of.filter((w) => !times[w.slug]).length,
      doubled: of.filter((w) => times[w.slug] > 1).length,
    };
  }
}

export function teardown(data) {
  leave(where, http, cli, rec, data);
}

export function handleSummary(data) {
  return report(data);
}
