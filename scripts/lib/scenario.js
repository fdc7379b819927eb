// What the scenarios have in common: how they begin, what they may do, and how they leave the store behind.
import exec from 'k6/execution';
import { forgetRun, keysOf, pointRead } from './council.js';
import { choice, runID } from './target.js';

// sized picks the preset by NAME_PRESET, or PRESET for all scenarios, and gives its sizes.
export function sized(env, name, presets) {
  const own = `${name}_PRESET`;
  const variable = env[own] ? own : 'PRESET';
  const preset = choice(env, variable, Object.keys(presets), 'full');
  return { preset, ...presets[preset] };
}

// described puts a scenario into the words of the run record; what it leaves out is the same for all.
export function described(where, { state = {}, workload = {}, protocol = {} }) {
  return {
    data: dataLevels(where),
    state,
    workload,
    environment: { backend: where.store ? 'local' : 'served', network: 'as_given', warmth: 'warm' },
    protocol,
  };
}

// dataLevels are what a rig's dataset says of itself; of a store that was given only that is known.
function dataLevels(where) {
  const levels = { provenance: where.isRig ? 'rig' : 'given' };
  let d;
  try {
    d = JSON.parse(where.dataset || '{}');
  } catch (e) {
    return levels; // a name and not a rig's document: it stands in the record as it is
  }
  if (d && d.rows !== undefined) {
    levels.rows = String(d.rows);
    levels.payload_bytes = String(d.payload_bytes);
    levels.tables = '4';
    levels.shape = 'council';
    levels.skew = Number(d.exponent) > 0 ? `relations_power_law_${d.exponent}` : 'relations_uniform';
  }
  return levels;
}

// compacted is the state that reads and writes meet where a scenario optimizes the store itself, if it can.
export function compacted(where, when) {
  return where.store && where.mayWrite
    ? { f1_fragmentation: `optimized_${when}`, f5_compaction_recency: when }
    : { f1_fragmentation: 'as_found' };
}

// steps makes scenarios that wait for each other with sequence(): [{name, run, of, workers, tags}].
export function stepScenarios(steps) {
  return Object.fromEntries(steps.map((s) => [s.name, {
    executor: s.each ? 'per-vu-iterations' : 'shared-iterations',
    exec: s.run,
    vus: s.workers,
    iterations: s.each ? 1 : s.of,
    maxDuration: '120m',
    gracefulStop: '30s',
    tags: { workers: String(s.workers), phase: 'measure', ...s.tags },
  }]));
}

// undivided ends a run that was given a share of the test only. What waits for its turn, or watches the server step by step,
// counts within one process: shares of it would measure something else, each for itself.
export function undivided() {
  if (share()) {
    exec.test.abort(`this scenario can't be split over processes: run it without --execution-segment, in a single pod (it got ${share()})`);
  }
}

// compareOptions says which of the values that this environment asks for the options in force don't have: those of an archive
// are of the moment when it was made.
export function compareOptions(scenario, wanted) {
  const inForce = (exec.test.options.scenarios || {})[scenario];
  const same = (a, b) => a === b || (typeof a === 'string' && typeof b === 'string' && seconds(a) === seconds(b));
  const fixed = inForce ? Object.keys(wanted).filter((name) => !same(inForce[name], wanted[name])) : [];
  if (fixed.length > 0) {
    const told = fixed.map((name) => `${name} ${inForce[name] === undefined ? '(none)' : inForce[name]} and not ${wanted[name]}`);
    console.warn(`the options were fixed when the archive was made, the environment changes them no more: ${told.join(', ')}`);
  }
}

// seconds reads a duration as k6 does: 1m30s, 5m0s, 500ms, or a number of milliseconds.
function seconds(text) {
  if (/^[0-9.]+$/.test(text)) {
    return Number(text) / 1000;
  }
  const units = { ms: 0.001, s: 1, m: 60, h: 3600, d: 86400 };
  return [...text.matchAll(/([0-9.]+)(ms|s|m|h|d)/g)].reduce((sum, [, n, unit]) => sum + Number(n) * units[unit], 0);
}

// share is the part of the test that this process does, or nothing if that is all of it.
export function share() {
  const segment = exec.test.options.executionSegment;
  return segment && String(segment) !== '0:1' ? String(segment) : undefined;
}

// recordable ends a run that could leave no record, before it puts any load on the server: in a folder of another run it
// would be that one's server that it disturbs, for nothing.
export function recordable(rec) {
  const problem = rec.problem();
  if (problem) {
    exec.test.abort(`nothing is sent: ${problem}`);
  }
}

// begin checks that the run can be made and gives what teardown needs: the run's id and where the history stands.
// A scenario that may be split over processes says so.
export function begin(where, http, rec, { writes = false, optimizes = false, divisible = false } = {}) {
  if (!divisible) {
    undivided();
  }
  recordable(rec);
  const health = http.health();
  if (!health.ok) {
    exec.test.abort(`the server can't be used: ${health.error.message}`);
  }
  if (writes && !where.mayWrite) {
    exec.test.abort('this scenario writes, and the store is no rig: ALLOW_WRITES=1 allows it');
  }
  if (optimizes && where.mayWrite && !where.store) {
    console.warn('optimize is left out: it needs the store itself (OMNIGRAPH_STORE)');
  }
  if (where.noiseFloor !== undefined) {
    rec.noiseFloor(where.noiseFloor);
  }
  const state = rec.before(http);
  const id = runID();
  return {
    id,
    project: `load-test-${id}`,
    keys: keysOf(http),
    commits: state ? state.commits : null,
    sinceOptimize: state ? state.commitsSinceOptimize : null,
  };
}

// needKeys aborts a read scenario that would have nothing to read.
export function needKeys(data, where) {
  if (data.keys.length === 0) {
    exec.test.abort(`graph ${where.graph} holds no Memory rows to read; a rig brings its own`);
  }
}

// tryOptimize compacts the store. The CLI of 0.8.0 crashes at it now and then, most of all after deletes, and succeeds if
// it is asked again.
function tryOptimize(cli) {
  let res;
  for (let attempt = 1; attempt <= 5; attempt += 1) {
    res = cli.optimize();
    if (res.ok) {
      break;
    }
    console.warn(`optimize failed (attempt ${attempt} of 5): ${res.error.message.split('\n').slice(0, 3).join(' ')}`);
  }
  return res;
}

// optimizeNow compacts the store and notes it, or ends the run. A server that runs meanwhile (0.8.0) refuses updates and
// deletes as "stale view" from then on, however often they are repeated, until something reads the table: so it is read.
export function optimizeNow(http, cli, rec, text) {
  const res = tryOptimize(cli);
  if (!res.ok) {
    exec.test.abort(`optimize failed: ${res.error.message}`);
  }
  refresh(http);
  rec.event('optimize', text, res.duration);
  return res.duration;
}

// maintain compacts the store as a scheduled job would beside the load, which goes on where that fails.
export function maintain(http, cli, rec, text) {
  const res = tryOptimize(cli);
  refresh(http);
  rec.event(res.ok ? 'optimize' : 'failed optimize', text, res.duration);
}

function refresh(http) {
  warmUp(() => http.query(pointRead, { slug: 'refresh' }), 1);
}

// leave notes what the store holds, deletes the run's rows, and says what stays.
export function leave(where, http, cli, rec, data) {
  rec.after(http);
  if (!where.mayWrite) {
    return;
  }
  if (where.store && cli && !share()) { // the other processes may be at work
    if (!tryOptimize(cli).ok) {
      console.warn("the store was not optimized before the run's rows are deleted");
    }
    http.query(pointRead, { slug: 'refresh' });
  }
  let gone;
  try {
    gone = forgetRun(http, data.project);
  } catch (e) {
    console.error(e.message);
    return;
  }
  const commits = http.commits();
  const stay = commits.ok && data.commits !== null ? `${commits.rowCount - data.commits} commits` : 'its commits';
  console.info(`${gone} rows of this run were deleted in one commit; ${stay} stay in the store's history`);
}

// tell logs a failure, the first of each kind of a VU: all are counted in the record and stand in the report.
const told = {};
export function tell(what, error) {
  if (!told[error.kind]) {
    told[error.kind] = true;
    console.warn(`${what}: ${error.kind}: ${error.message} (more of this kind are counted, not logged)`);
  }
}

// warmUp calls fn outside the measurement: reports leave it out.
export function warmUp(fn, times = 3) {
  const before = exec.vu.tags.phase;
  exec.vu.tags.phase = 'warmup';
  for (let i = 0; i < times; i += 1) {
    fn(i);
  }
  exec.vu.tags.phase = before || 'measure';
}

// pick chooses a key, another one each time, spread over all.
export function pick(keys, i) {
  return keys[(exec.vu.idInTest * 7919 + i * 31) % keys.length];
}

// round keeps what goes into a record short: microseconds are enough.
export function round(ms) {
  return Math.round(ms * 1000) / 1000;
}
