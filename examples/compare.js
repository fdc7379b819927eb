// Both transports side by side: the same read through the CLI and over HTTP, paired within each iteration.
import { CLIClient, HTTPClient, compare } from 'k6/x/omnigraph';

export const options = {
  vus: 1,
  iterations: 20,
  thresholds: { 'omnigraph_pair_overhead{pair:cli-http}': ['med>0'] }, // the CLI costs more, by this much
};

const where = { graph: __ENV.OMNIGRAPH_GRAPH, token: __ENV.OMNIGRAPH_TOKEN };
const http = new HTTPClient({ url: __ENV.OMNIGRAPH_URL, ...where });
const cli = new CLIClient({ server: __ENV.OMNIGRAPH_URL, bin: __ENV.OMNIGRAPH_BIN, ...where });
const gq = 'query count_memories() { match { $m: Memory } return { count($m) as n } }';

export default function () {
  compare({
    cli: () => cli.query(gq),
    http: () => http.query(gq),
  });
}
