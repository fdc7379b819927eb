// The actors that a scenario may spread its load over: each has an admission cap of its own.

// actorTokens gives up to n bearer tokens: OMNIGRAPH_TOKENS (separated by commas), or the writers of a rig's
// OMNIGRAPH_TOKENS_FILE, or the one token that there is, or undefined. It reads a file and so belongs into the init context.
export function actorTokens(env, where, n) {
  let tokens = [];
  if (env.OMNIGRAPH_TOKENS) {
    tokens = env.OMNIGRAPH_TOKENS.split(',').map((t) => t.trim()).filter(Boolean);
  } else if (env.OMNIGRAPH_TOKENS_FILE) {
    const all = JSON.parse(open(env.OMNIGRAPH_TOKENS_FILE));
    tokens = Object.keys(all).filter((actor) => /^act-load(-\d+)?$/.test(actor)).sort().map((actor) => all[actor]);
  }
  if (tokens.length === 0 && where.token) {
    tokens = [where.token];
  }
  return tokens.length > 0 ? tokens.slice(0, n) : undefined;
}
