// A weighted mix of operations on the council graph, as mix.js and soak.js send it.
import exec from 'k6/execution';
import { insertMany, insertRow, pointRead, projectScan, row, setImportance } from './council.js';
import { chooser } from './keys.js';

export const kinds = ['read', 'scan', 'update', 'insert', 'rmw'];
const writing = ['update', 'insert', 'rmw'];

// parseMix reads weights such as read:95,update:5.
export function parseMix(name, text) {
  const mix = {};
  for (const part of text.split(',')) {
    const [kind, weight] = part.split(':').map((s) => s.trim());
    const w = Number(weight);
    if (!kinds.includes(kind) || !(w >= 0) || weight === '') {
      throw new Error(`${name} got "${text}"; it takes weights such as read:95,update:5 of ${kinds.join(', ')}`);
    }
    mix[kind] = w;
  }
  if (!(Object.values(mix).reduce((a, b) => a + b, 0) > 0)) {
    throw new Error(`${name} got "${text}"; at least one weight has to be above 0`);
  }
  return mix;
}

export const writes = (mix) => writing.some((kind) => mix[kind] > 0);

// ownRows makes the rows that updates change: never rows of somebody else.
export function ownRows(http, data, prefix, n = 100) {
  const own = Array.from({ length: n }, (_, i) => `${prefix}-${data.id}-own-${i}`);
  const { gq, params } = insertMany(own, data.project);
  const res = http.mutate(gq, params);
  if (!res.ok) {
    exec.test.abort(`the rows to update could not be made: ${res.error.message}`);
  }
  return own;
}

// mixer gives a function that makes one operation of the mix. Each VU has its own.
export function mixer(http, mix, keysKind, data, prefix) {
  const total = Object.values(mix).reduce((a, b) => a + b, 0);
  const read = data.keys.length > 0 ? chooser(keysKind, data.keys) : null;
  const own = data.own && data.own.length > 0 ? chooser(keysKind === 'latest' ? 'latest' : keysKind, data.own) : null;
  let written = 0;
  const operations = {
    read: () => http.query(pointRead, { slug: read() }),
    scan: () => http.query(projectScan, { project: `prj-${String(1 + Math.floor(Math.random() * 12)).padStart(2, '0')}` }),
    update: () => http.mutate(setImportance, { slug: own(), importance: 1 + Math.floor(Math.random() * 5) }),
    insert: () => {
      written += 1;
      return http.mutate(insertRow, row(`${prefix}-${data.id}-${exec.vu.idInTest}-${written}`, data.project));
    },
    rmw: () => {
      const slug = own();
      const got = http.query(pointRead, { slug }, { name: 'rmw_read' });
      const importance = got.ok && got.rowCount > 0 ? (got.rows[0]['m.importance'] % 1000) + 1 : 1;
      return http.mutate(setImportance, { slug, importance }, { name: 'rmw_write' });
    },
  };
  return () => {
    let x = Math.random() * total;
    for (const kind of Object.keys(mix)) {
      x -= mix[kind];
      if (x < 0) {
        return operations[kind]();
      }
    }
    return operations[Object.keys(mix)[0]]();
  };
}
