// The smallest check that the extension is in a k6: everything that it exports is there, and nothing needs a server.
import { connect, HTTPClient, CLIClient, compare, levels, record, report, sequence } from 'k6/x/omnigraph';

const client = connect('http://127.0.0.1:1', { graph: 'council' });

export default function () {
  for (const [name, value] of Object.entries({ connect, HTTPClient, CLIClient, compare, levels, record, report, sequence })) {
    if (typeof value !== 'function') {
      throw new Error(`${name} is ${typeof value}, not a function`);
    }
  }
  const res = client.version();
  if (res.ok || res.error.kind !== 'unsupported') {
    throw new Error(`version over HTTP should be unsupported, got ${JSON.stringify(res.error)}`);
  }
}
