// The actors that a scenario may spread its load over: each has an admission cap of its own.

// actorTokens gives up to n bearer tokens: OMNIGRAPH_TOKENS (separated by commas), or the writers of a rig's
// OMNIGRAPH_TOKENS_FILE (of another such file all actors), or the one token that there is, or undefined. It reads a file
// and so belongs into the init context.
export function actorTokens(env, where, n) {
  let tokens = [];
  if (env.OMNIGRAPH_TOKENS) {
    tokens = env.OMNIGRAPH_TOKENS.split(',').map((t) => t.trim()).filter(Boolean);
    if (tokens.length === 0) {
      throw new Error(`OMNIGRAPH_TOKENS got "${env.OMNIGRAPH_TOKENS}"; it takes bearer tokens, separated by commas`);
    }
  } else if (env.OMNIGRAPH_TOKENS_FILE) {
    const all = read(env.OMNIGRAPH_TOKENS_FILE);
    const writers = Object.keys(all).filter((actor) => /^act-load(-\d+)?$/.test(actor));
    tokens = (writers.length > 0 ? writers : Object.keys(all)).sort().map((actor) => all[actor]);
  }
  if (tokens.length === 0 && where.token) {
    tokens = [where.token];
  }
  return tokens.length > 0 ? tokens.slice(0, n) : undefined;
}

// givenTokens gives the tokens that somebody gave on purpose, of which each VU takes its own, or the one token that there
// is: for scenarios that spread over actors only if they are asked to. Every rig has a file of tokens, and asks for nothing.
export function givenTokens(env, where) {
  return env.OMNIGRAPH_TOKENS || (env.OMNIGRAPH_TOKENS_FILE && !where.isRig) ? actorTokens(env, where, Infinity) : where.token;
}

// read gives a file's tokens by actor. An archive holds the files that were named when it was made, and no others.
function read(file) {
  let all;
  try {
    all = JSON.parse(open(file));
  } catch (e) {
    throw new Error(`OMNIGRAPH_TOKENS_FILE names ${file}, which can't be read: ${e.message || e}. OMNIGRAPH_TOKENS takes a list instead, also when an archive runs without the file`);
  }
  if (!all || typeof all !== 'object' || Object.values(all).length === 0 || !Object.values(all).every((t) => t && typeof t === 'string')) {
    throw new Error(`OMNIGRAPH_TOKENS_FILE names ${file}; it takes a JSON object of actors and their bearer tokens`);
  }
  return all;
}
