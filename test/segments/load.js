// Says with every operation which iteration of the whole test it is, by which process and VU, and under which key it would write.
import exec from 'k6/execution';
import { HTTPClient, record, report } from 'k6/x/omnigraph';

export const options = {
  scenarios: { load: JSON.parse(__ENV.SCENARIO || '{"executor":"shared-iterations","vus":1,"iterations":1}') },
  summaryTrendStats: ['med', 'count'],
};

const og = new HTTPClient({ url: __ENV.OMNIGRAPH_URI, graph: __ENV.OMNIGRAPH_GRAPH || 'council', token: __ENV.OMNIGRAPH_TOKENS ? __ENV.OMNIGRAPH_TOKENS.split(',') : __ENV.OMNIGRAPH_TOKEN });
record({ name: 'segments', dir: '.' });
const gq = __ENV.WRITE
  ? 'query add($key: String) { insert Project { slug: $key, name: $key } }'
  : 'query told($iteration: I32, $process: I32, $vu: I32, $key: String) { match { $m: Memory { slug: $key } } return { $m.slug } }';

export default function () {
  const key = `segments-${exec.vu.idInTest}-${exec.vu.iterationInInstance}`;
  if (__ENV.WRITE) {
    og.mutate(gq, { key });
    return;
  }
  og.query(gq, { iteration: exec.scenario.iterationInTest, process: Number(__ENV.PROCESS), vu: exec.vu.idInTest, key });
}

export function handleSummary(data) {
  return report(data);
}
