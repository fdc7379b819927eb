// The server or store that a scenario is pointed at, from the environment, and what may be done to it.

// target reads where the load goes. Nothing here fails while the environment is empty: k6 inspect and k6 archive run
// without it.
export function target(env) {
  const uri = env.OMNIGRAPH_URI || env.OMNIGRAPH_URL;
  return {
    uri,
    isHTTP: /^https?:/i.test(uri || ''),
    graph: env.OMNIGRAPH_GRAPH || 'council',
    token: env.OMNIGRAPH_TOKEN || env.OMNIGRAPH_BEARER_TOKEN,
    bin: env.OMNIGRAPH_BIN || 'omnigraph',
    store: env.OMNIGRAPH_STORE,
    dataset: env.OMNIGRAPH_DATASET,
    // What only the user knows of the system under test: it is part of what identifies the numbers.
    system: {
      backend: env.OMNIGRAPH_BACKEND || (env.OMNIGRAPH_STORE ? 'local store' : 'server'),
      build: env.OMNIGRAPH_BUILD ? choice(env, 'OMNIGRAPH_BUILD', ['release', 'debug'], 'release') : '',
    },
    // A rig's store is there to be written to; any other only with leave.
    mayWrite: flag(env, 'ALLOW_WRITES') || Boolean(env.OMNIGRAPH_RIG),
    isRig: Boolean(env.OMNIGRAPH_RIG),
    // What A/A runs of the same session differ by, as a share; undefined if it was not measured.
    noiseFloor: fraction(env, 'NOISE_FLOOR'),
  };
}

// number reads a whole number from the environment.
export function number(env, name, otherwise, least = 0) {
  const text = env[name];
  if (text === undefined || text === '') {
    return otherwise;
  }
  const n = Number(text);
  if (!Number.isInteger(n) || n < least) {
    throw new Error(`${name} got "${text}"; it takes a whole number, at least ${least}`);
  }
  return n;
}

// numbers reads a list such as 1,4,8.
export function numbers(env, name, otherwise) {
  const text = env[name];
  if (text === undefined || text === '') {
    return otherwise;
  }
  const list = text.split(',').map((part) => Number(part.trim()));
  if (!list.every((n) => Number.isInteger(n) && n >= 1)) {
    throw new Error(`${name} got "${text}"; it takes whole numbers, at least 1, separated by commas`);
  }
  if (new Set(list).size < list.length) {
    throw new Error(`${name} got "${text}"; it takes each number once`);
  }
  return list;
}

// fraction reads a share such as 0.02 from the environment; undefined without one.
export function fraction(env, name) {
  const text = env[name];
  if (text === undefined || text === '') {
    return undefined;
  }
  const n = Number(text);
  if (!(n >= 0 && n <= 1)) {
    throw new Error(`${name} got "${text}"; it takes a share from 0 to 1, such as 0.02`);
  }
  return n;
}

// flag reads a yes or no from the environment.
export function flag(env, name) {
  return choice(env, name, ['1', '0'], '0') === '1';
}

// choice reads one of a few words.
export function choice(env, name, words, otherwise) {
  const text = env[name] || otherwise;
  if (!words.includes(text)) {
    throw new Error(`${name} got "${text}"; it takes ${words.join(' or ')}`);
  }
  return text;
}

// runID tells this run's keys from those of every other run and generator.
export function runID() {
  return `${Date.now().toString(36)}${Math.floor(Math.random() * 36 ** 4).toString(36).padStart(4, '0')}`;
}
