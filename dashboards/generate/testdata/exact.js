// Adds the values of the file VALUES to a trend of times and to one without a unit, each value to the series it stands under.
import { Trend } from 'k6/metrics';

export const options = { vus: 1, iterations: 1 };

const values = JSON.parse(__ENV.VALUES ? open(__ENV.VALUES) : '{}');
const trends = { time: new Trend('exact_time', true), plain: new Trend('exact_plain') };

export default function () {
  for (const [trend, ofSeries] of Object.entries(values)) {
    for (const [series, all] of Object.entries(ofSeries)) {
      for (const value of all) {
        trends[trend].add(value, { series });
      }
    }
  }
}
