"""Makes independent.json: what NumPy and SciPy find for the same data. Run it with Python, NumPy and SciPy at hand:

    python independent.py > independent.json
"""
import json

import numpy as np
import scipy.optimize as opt
import scipy.stats as st

rng = np.random.default_rng(20261130)


def drawn(n, median, sigma, digits=6):
    return np.round(median * np.exp(sigma * rng.standard_normal(n)), digits).tolist()


def quantiles():
    for n in (1, 2, 19, 20, 21, 100, 333, 1000):
        v = drawn(n, 10, 0.4, 3)
        yield {
            "values": v,
            "p50": float(np.median(v)),
            "p95": float(np.quantile(v, 0.95, method="inverted_cdf")) if n >= 20 else None,
            "p99": float(np.quantile(v, 0.99, method="inverted_cdf")) if n >= 100 else None,
        }


def rank_tests():
    for na, nb, digits in ((3, 4, 6), (8, 11, 6), (12, 12, 6), (9, 10, 0), (40, 55, 6), (60, 50, 0), (1, 9, 6)):
        a, b = drawn(na, 10, 0.3, digits), drawn(nb, 12, 0.3, digits)
        tied = len(set(a + b)) < na + nb
        method = "exact" if not tied and na + nb <= 24 else "asymptotic"
        p = st.mannwhitneyu(a, b, alternative="two-sided", method=method, use_continuity=True).pvalue
        yield {"a": a, "b": b, "p": float(p)}


def scaling():
    for sigma, kappa, repeats in ((0.05, 0.002, 1), (0.2, 0.0, 2), (0.01, 0.01, 3), (0.3, 0.001, 2)):
        n = np.repeat([1.0, 2, 4, 8, 12, 16, 32], repeats)
        x = np.round(50 * n / (1 + sigma * (n - 1) + kappa * n * (n - 1)) * (1 + 0.05 * rng.standard_normal(n.size)), 4)

        def off(p):
            return p[0] * n / (1 + p[1] * (n - 1) + p[2] * n * (n - 1)) - x

        fits = [
            opt.least_squares(off, start, bounds=([0, 0, 0], [np.inf, 1, np.inf]), xtol=1e-15, ftol=1e-15, gtol=1e-15, x_scale=[10, 0.1, 0.01])
            for start in ([50, 0.1, 0.001], [50, 0.01, 0.01], [20, 0.3, 0.0001])
        ]
        best = min(fits, key=lambda f: f.cost)
        yield {"n": n.tolist(), "x": x.tolist(), "squares": float(2 * best.cost), "lambda": best.x[0], "sigma": best.x[1], "kappa": best.x[2]}


def aging():
    for base, slope in ((4, 0.2), (8, 0.05)):
        c = np.repeat(np.arange(0.0, 120, 6), 4)
        y = np.round((base + slope * c) * np.exp(0.2 * rng.standard_normal(c.size)), 4)
        design, w = np.c_[np.ones_like(c), c], np.ones_like(c)
        for _ in range(4):
            line = np.linalg.lstsq(design * np.sqrt(w)[:, None], y * np.sqrt(w), rcond=None)[0]
            w = 1 / np.maximum(design @ line, 0.05 * y.mean()) ** 2
        yield {"commits": c.tolist(), "ms": y.tolist(), "base": float(line[0]), "slope": float(line[1])}


def order_ranks():
    for n, q in ((200, 0.95), (1000, 0.95), (1000, 0.99), (5000, 0.99)):
        b = st.binom(n, q)
        k = np.arange(0, n + 2)
        # The largest lower rank with at most 2.5 % below it, the smallest upper rank with at most 2.5 % above it.
        low = int(k[b.cdf(k - 1) <= 0.025].max())
        high = int(k[1 - b.cdf(k - 1) <= 0.025].min())
        yield {"n": n, "q": q, "low": low, "high": high}


print(json.dumps({
    "quantiles": list(quantiles()), "rank_tests": list(rank_tests()), "scaling": list(scaling()),
    "aging": list(aging()), "order_ranks": list(order_ranks()),
}))
