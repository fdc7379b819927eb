// How operations choose among keys: all alike, a few much more often than the others, or the newest most often.

// chooser gives a function that chooses a key. zipf follows Zipf's law with the exponent 0.99, as YCSB does, over the keys
// in a fixed mixed order, so that the popular ones are no neighbours; latest does so from the last key backwards.
export function chooser(kind, keys) {
  const n = keys.length;
  if (kind === 'uniform') {
    return () => keys[Math.floor(Math.random() * n)];
  }
  const rank = zipfRank(n, 0.99);
  if (kind === 'latest') {
    return () => keys[n - 1 - rank()];
  }
  // A step that shares no factor with n visits every position once.
  let step = Math.max(1, Math.floor(n * 0.618));
  while (gcd(step, n) !== 1) {
    step += 1;
  }
  return () => keys[(rank() * step) % n];
}

function gcd(a, b) {
  return b === 0 ? a : gcd(b, a % b);
}

// zipfRank draws a rank from 0 to n - 1, by binary search in the distribution's sums.
export function zipfRank(n, exponent) {
  const sums = new Float64Array(n);
  let sum = 0;
  for (let i = 0; i < n; i += 1) {
    sum += 1 / (i + 1) ** exponent;
    sums[i] = sum;
  }
  return () => {
    const x = Math.random() * sum;
    let low = 0;
    let high = n - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (sums[middle] < x) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  };
}
