// An open model: 50 reads a second whatever the server's pace; what can't start on time is dropped and counted.
import { connect } from 'k6/x/omnigraph';

export const options = {
  scenarios: {
    reads: { executor: 'constant-arrival-rate', rate: 50, timeUnit: '1s', duration: '5s', preAllocatedVUs: 10, maxVUs: 20 },
  },
  thresholds: {
    // A record knows a scenario's iterations only from thresholds on them: these two tell whether the schedule was kept.
    'dropped_iterations{scenario:reads}': ['count>=0'],
    'iterations{scenario:reads}': ['count>=0'],
    'omnigraph_op_duration{ok:true}': ['p(95)<1000'],
    omnigraph_op_failed: ['rate<0.01'],
  },
};

const og = connect(__ENV.OMNIGRAPH_URI, { graph: __ENV.OMNIGRAPH_GRAPH, token: __ENV.OMNIGRAPH_TOKEN });

export default function () {
  og.invoke('list_memories');
}
