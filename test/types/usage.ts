// Compiled by tsc only: what the types allow, and (marked) what they forbid.
import { CLIClient, HTTPClient, compare, connect, levels, record, report, sequence } from 'k6/x/omnigraph';
import type { Commit, ErrorKind, OmnigraphError, Result } from 'k6/x/omnigraph';

const http = new HTTPClient({ url: 'http://127.0.0.1:1', pool: 'shared', maxConnections: 4, retry: { maxAttempts: 2, kinds: ['conflict_stale'] } });
const cli = new CLIClient({ server: 'http://127.0.0.1:1', store: '/tmp/x.omni', bin: 'omnigraph', args: [], env: {}, maxProcesses: 8 });
const either = connect(undefined, { graph: 'g', token: ['a', 'b'] });
new HTTPClient({ url: 'http://127.0.0.1:1', tokensFile: './tokens.json' });
new CLIClient({ store: '/tmp/x.omni', tokensFile: './tokens.json' });
// @ts-expect-error a file is read by the constructor only
http.query('query q() {}', {}, { tokensFile: './tokens.json' });
// @ts-expect-error an option of the other client
new HTTPClient({ bin: 'omnigraph' });
// @ts-expect-error an option that is not there
new CLIClient({ pool: 'vu' });
// @ts-expect-error no such error kind
http.query('query q() {}', {}, { retry: { kinds: ['oops'] } });
// @ts-expect-error load has no snapshot
http.load([], { snapshot: 'x' });

export const options = { scenarios: levels([1, 2], { duration: '1s', warmup: 1000 }) };
const rec = record({ name: 'usage', run: { data: { rows: '913' } } });
const turns = sequence('usage', ['one', 'two']);

export default async function () {
  const res: Result = either.query('query q($s: String) { }', { s: 'a', n: null, list: [1, 2] }, { name: 'q', timeout: '1s', throw: true });
  const first: string = res.rows[0]['m.slug'];
  const kind: ErrorKind | undefined = res.error?.kind;
  // @ts-expect-error a result is read-only
  res.ok = true;
  const commits: Commit[] = (await http.asyncCommits()).rows;
  const took: { cli: number; http: number } = compare({ cli: () => cli.version(), http: () => http.health() });
  const later: { a: number; b: number } = await compare({ a: async () => http.asyncHealth(), b: async () => http.asyncHealth() });
  const n: number = turns.turn('one', { of: 2, workers: 1, warmup: 1 }, () => 7);
  rec.event('optimize', 'after', took.cli + later.a + n);
  try {
    cli.cleanup({ keep: 2 });
  } catch (e) {
    console.log((e as OmnigraphError).indeterminate, first, kind, commits.length);
  }
}

export function handleSummary(data: any) {
  rec.before(http);
  const lost: string | null = rec.problem();
  void lost;
  return report(data, { metrics: false });
}

export async function compared() {
  const mixed: Promise<{ a: number; b: number }> = compare({ a: () => http.health(), b: () => http.asyncHealth() });
  // @ts-expect-error one callback that gives a promise makes the whole comparison one
  const took: { a: number; b: number } = compare({ a: () => http.health(), b: () => http.asyncHealth() });
  return [await mixed, took];
}
