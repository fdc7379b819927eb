// The actors that a scenario may spread its load over: each has an admission cap of its own.

// actorTokens gives up to n bearer tokens: OMNIGRAPH_TOKENS (separated by commas), or the writers of a rig's
// OMNIGRAPH_TOKENS_FILE, or the one token that there is, or undefined. It reads a file and so belongs into the init context.
export function actorTokens(env, where, n) {
  let tokens = [];
  if (env.OMNIGRAPH_TOKENS) {
    tokens = env.OMNIGRAPH_TOKENS.split(',').map((t) => t.trim()).filter(Boolean);
  } else if (env.OMNIGRAPH_TOKENS_FILE) {
    const all = JSON.parse(read(env.OMNIGRAPH_TOKENS_FILE) || '{}');
    tokens = Object.keys(all).filter((actor) => /^act-load(-\d+)?$/.test(actor)).sort().map((actor) => all[actor]);
  }
  if (tokens.length === 0 && where.token) {
    tokens = [where.token];
  }
  return tokens.length > 0 ? tokens.slice(0, n) : undefined;
}

// givenTokens gives the tokens of OMNIGRAPH_TOKENS, of which each VU takes its own, or the one token that there is: for
// scenarios that spread over actors only if they are asked to.
export function givenTokens(env, where) {
  return env.OMNIGRAPH_TOKENS ? actorTokens(env, where, Infinity) : where.token;
}

// read gives a file's contents. An archive holds the files that were named when it was made, and no others.
function read(file) {
  try {
    return open(file);
  } catch (e) {
    if (__VU === 1) {
      console.warn(`the load stays with one actor: ${e.message || e}; OMNIGRAPH_TOKENS takes a list, also when an archive runs`);
    }
    return undefined;
  }
}
