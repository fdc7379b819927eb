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
    const all = read(env, env.OMNIGRAPH_TOKENS_FILE);
    const writers = Object.keys(all).filter((actor) => /^act-load(-\d+)?$/.test(actor));
    tokens = (writers.length > 0 ? writers : Object.keys(all)).sort().map((actor) => all[actor]);
  }
  if (tokens.length === 0 && where.token) {
    tokens = [where.token];
  }
  return tokens.length > 0 ? tokens.slice(0, n) : undefined;
}

// givenTokens gives the tokens that somebody gave on purpose, of which each VU takes its own, or the one token that there
// is: for scenarios that spread over actors only if they are asked to.
export function givenTokens(env, where) {
  const given = env.OMNIGRAPH_TOKENS || (env.OMNIGRAPH_TOKENS_FILE && !isRigs(env, env.OMNIGRAPH_TOKENS_FILE));
  return given ? actorTokens(env, where, Infinity) : where.token;
}

// isRigs says of a file of tokens that it is the one that every command in a rig is told of: nobody asked for it.
function isRigs(env, file) {
  return Boolean(env.OMNIGRAPH_RIG) && file === `${env.OMNIGRAPH_RIG}/tokens.json`;
}

// read gives a file's tokens by actor. An archive holds the files that were named when it was made, and no others: in a rig
// it does without that rig's file.
function read(env, file) {
  let text;
  try {
    text = open(file);
  } catch (e) {
    if (!isRigs(env, file)) {
      throw new Error(`OMNIGRAPH_TOKENS_FILE names ${file}, which can't be read: ${e.message || e}. OMNIGRAPH_TOKENS takes a list instead, also when an archive runs without the file`);
    }
    if (__VU === 1) {
      console.warn(`the load stays with one actor: ${e.message || e}; OMNIGRAPH_TOKENS takes a list, also when an archive runs`);
    }
    return {};
  }
  let all;
  try {
    all = JSON.parse(text);
  } catch (e) {
    all = null;
  }
  const tokens = Object.values(all || {});
  if (typeof all !== 'object' || tokens.length === 0 || !tokens.every((t) => t && typeof t === 'string')) {
    throw new Error(`OMNIGRAPH_TOKENS_FILE names ${file}; it takes a JSON object of actors and their bearer tokens`);
  }
  return all;
}
