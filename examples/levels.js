// Levels of concurrency: the same read with 1, 2 and 4 VUs, one level after the other.
import { connect, levels } from 'k6/x/omnigraph';

export const options = {
  scenarios: levels([1, 2, 4], { duration: '2s', warmup: '1s', gap: '0s', name: 'readers' }),
  thresholds: {
    'omnigraph_op_duration{workers:1,phase:measure}': ['p(95)<1000'],
    'omnigraph_op_duration{workers:4,phase:measure}': ['p(95)<1000'],
  },
};

const og = connect(__ENV.OMNIGRAPH_URI, { graph: __ENV.OMNIGRAPH_GRAPH, token: __ENV.OMNIGRAPH_TOKEN });

export default function () {
  og.invoke('get_memory', { slug: `mem-000${1 + (__ITER % 9)}` });
}
