// The queries of the council dataset that the scenarios send, as text, so that both transports do the same work.

export const pointRead = `query get_memory($slug: String) {
  match { $m: Memory { slug: $slug } }
  return { $m.slug, $m.title, $m.body, $m.kind, $m.project, $m.importance }
}`;

export const fullScan = `query list_memories() {
  match { $m: Memory }
  return { $m.slug, $m.title, $m.kind }
  order { $m.slug asc }
}`;

export const insertRow = `query add_memory($slug: String, $title: String, $body: String, $kind: String, $project: String, $importance: I32) {
  insert Memory { slug: $slug, title: $title, body: $body, kind: $kind, project: $project, importance: $importance, created_at: now() }
}`;

const keysOnly = `query memory_keys() { match { $m: Memory } return { $m.slug } }`;

// row makes the parameters of insertRow for a key. Rows of one run share a project, by which forgetRun finds them.
export function row(slug, project = 'load-test') {
  return { slug, title: `written by a load test: ${slug}`, body: 'x'.repeat(200), kind: 'note', project, importance: 1 };
}

// keysOf lists the Memory keys, those with a prefix if one is given.
export function keysOf(client, prefix = '') {
  const res = client.query(keysOnly, {});
  if (!res.ok) {
    throw new Error(`the keys could not be read: ${res.error.message}`);
  }
  return res.rows.map((r) => r['m.slug']).filter((k) => k.startsWith(prefix));
}

// insertMany makes one mutation that inserts all keys: one commit. Sizes share their text, so that it is parsed once.
const manyTexts = {};
export function insertMany(keys, project) {
  const n = keys.length;
  if (!manyTexts[n]) {
    const names = Array.from({ length: n }, (_, i) => `$k${i}: String`);
    const inserts = Array.from({ length: n }, (_, i) => `  insert Memory { slug: $k${i}, title: $title, body: $body, kind: $kind, project: $project, importance: $importance, created_at: now() }`);
    manyTexts[n] = `query add_memories(${names.join(', ')}, $title: String, $body: String, $kind: String, $project: String, $importance: I32) {\n${inserts.join('\n')}\n}`;
  }
  const params = row('many', project);
  delete params.slug;
  keys.forEach((k, i) => {
    params[`k${i}`] = k;
  });
  return { gq: manyTexts[n], params };
}

// loadRows makes what load() takes of keys: the same rows as insertRow writes.
export function loadRows(keys, project) {
  const now = new Date().toISOString();
  return keys.map((k) => ({ type: 'Memory', data: { ...row(k, project), created_at: now } }));
}

const deleteRun = `query forget_run($project: String) {
  delete Memory where project = $project
}`;

// forgetRun deletes the rows that a run wrote with its own project, in one commit.
export function forgetRun(client, project) {
  // Right after an optimize the server's view of the table is stale once: it says so and asks to retry.
  const res = client.mutate(deleteRun, { project }, { timeout: '300s', retry: { maxAttempts: 20, kinds: ['conflict_stale'] } });
  if (!res.ok) {
    throw new Error(`the rows of project ${project} are left behind: ${res.error.message}`);
  }
  return res.affectedNodes;
}

export const setImportance = `query set_importance($slug: String, $importance: I32) {
  update Memory set { importance: $importance } where slug = $slug
}`;

// projectScan is a short scan: 20 rows at most.
export const projectScan = `query project_memories($project: String) {
  match { $m: Memory { project: $project } }
  return { $m.slug, $m.title }
  order { $m.slug asc }
  limit 20
}`;
