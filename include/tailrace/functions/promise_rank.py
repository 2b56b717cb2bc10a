"""The coverage threshold λ_thr of MEDIAN and QUANTILE, by a bound on how far the rank of an answer may slip."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor

import numpy as np

from tailrace.functions.population import Population
from tailrace.ground.arrow.columns import Floats

MOST = 100_000
"""Upper bound on n: larger windows count as windows of this many tuples, which is on the safe side."""

PLACES = 64
"""Number of nodes of the integral over the ranks in the population at which the window's quantile may lie."""

NEAR = 1e-9
"""Tolerance for rounding: products of doubles may be off a whole number by this much."""

RARE = 1e-12
"""Probabilities up to this one count as 0."""


def quantile(error: float, risk: float, population: Population, q: float) -> float:
    """Return λ_thr of QUANTILE, and of MEDIAN with q = 0.5.

    Let Q be the q-quantile of a window of n values (linear interpolation at h = q(n−1)), k = ⌊h⌋ + 1 the number of
    values surely at or below it, and W the number of the others that lie below c = Q + ε|Q|. m values are missing at
    random, independently of their size. The quantile of the r = n−m values received is interpolated at q(r−1); if it is
    ≥ c, at most ⌈q(r−1)⌉ of them lie below c, so that of the A = k + W values below c at least x = A − ⌈q(r−1)⌉ are
    missing. The number of these that are missing is hypergeometric:

        P(off above) ≤ E_W [ P(H ≥ x) ],   H ~ Hypergeometric(n, A, m).

    This is exact sampling without replacement: Serfling, Probability Inequalities for the Sum in Sampling without
    Replacement (Annals of Statistics 2, 1974) bounds the same tail by exp(−2 x'² n / (m(n−m+1))), x' = x − mA/n, which
    lets about half as many be missing. The other side is the same with −v and 1−q.

    W turns an error of rank into one of value. Assume that the values of a window are independent and distributed as
    the sample is, F. The rank U = F(k-th smallest of n) is Beta(k, n−k+1), and given U = u the n−k values above are
    drawn from what is above: W ~ Binomial(n−k, (F(c) − u)/(1−u)). Of F only s values are known. So F(c) is the number
    of them below c divided by s + 1, not s, because the next value may lie beyond all that are known; and the
    variance of U is the variance of the rank in the sample, whose own error adds 1/s to 1/n. The integral over
    u is a sum over 64 places.

    The step from a small error of rank to a small error of value follows Law & Zaniolo, Improving the Accuracy of
    Continuous Aggregates and Mining Queries on Data Streams under Load Shedding (IJBIDM 3(1), 2008).

    How conservative: an interpolated value counts as the farther of the two values beside it, up to two ranks of n in
    all, which is much where few values lie within ε. At (0.05, 0.05) and n = 500 λ_thr of MEDIAN is 0.19 for
    normal(10, 2) values, for which 0.18 would do in simulation, 0.94 for exponential ones (0.90), 0.89 for lognormal
    ones of σ 0.8 (0.80). Without a sample only whole windows keep the promise.
    """
    if not population.sample:
        return 1.0
    n = min(int(population.tuples + NEAR), MOST)
    values = population.ordered
    sides = [Side.from_sample(values, q, error, n), Side.from_sample(-values[::-1], 1 - q, error, n)]
    low, high = 0, n  # missing values that keep the promise, and that break it
    while high - low > 1:
        m = (low + high) // 2
        low, high = (m, high) if sum(side.worst(m) for side in sides) <= risk else (low, m)
    return 1 - low / n


@dataclass(frozen=True)
class Side:
    """The chance that an answer is off above; off below is the same for the negated values and 1 − q.

    Attributes
    ----------
    below : ndarray, shape (w,)
        A: the possible numbers of a window's n values that lie below the bound c.
    chance : ndarray, shape (w,)
        The probability of each A.
    logs : ndarray, shape (n + 1,)
        log i! for each i.
    """

    q: float
    n: int
    below: Floats
    chance: Floats
    logs: Floats

    @staticmethod
    def from_sample(values: Floats, q: float, error: float, n: int) -> Side:
        """Build the side from a sample of values, ascending."""
        k = floor(q * (n - 1) + NEAR) + 1
        logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, n + 1)))])
        if k == n:
            return Side(q, n, np.array([float(n)]), np.ones(1), logs)
        centre, size = k / (n + 1), 1 / (1 / (n + 1) + 1 / len(values))
        width = 6 * np.sqrt(centre * (1 - centre) / (size + 1))
        low, high = max(0.0, centre - width), min(1.0, centre + width)
        u = low + (high - low) * (np.arange(PLACES) + 0.5) / PLACES
        density = (centre * size - 1) * np.log(u) + ((1 - centre) * size - 1) * np.log1p(-u)
        density = np.exp(density - density.max())
        value = values[np.minimum(u * len(values), len(values) - 1).astype(int)]
        with np.errstate(over="ignore"):
            bound = value + error * np.where(value == 0, 1.0, np.abs(value))
        share = np.searchsorted(values, bound) / (len(values) + 1)
        p = np.clip((share - u) / (1 - u), RARE, 1 - RARE)
        chance = np.zeros(n - k + 1)
        w = np.arange(n - k + 1)
        log_binomial = logs[n - k] - logs[w] - logs[n - k - w]
        for weight, success in zip(density / density.sum(), p, strict=True):
            chance += weight * np.exp(log_binomial + w * np.log(success) + (n - k - w) * np.log1p(-success))
        likely = chance > RARE
        return Side(q, n, k + w[likely].astype(float), chance[likely], logs)

    def worst(self, m: int) -> float:
        """Return an upper bound, within a few per cent, of the chance to be off when m or fewer values are missing.

        As m rises, ⌈q(r−1)⌉ falls in steps. The chance rises between the steps and falls at each step, so it has peaks,
        each higher than the one before.
        """
        peak = m - 1
        while peak > 1 and not (self._upper_rank(peak) == self._upper_rank(peak - 1) != self._upper_rank(peak + 1)):
            peak -= 1
        return max(self.off(m), self.off(max(peak, 1)))

    def _upper_rank(self, m: int) -> int:
        return ceil(self.q * (self.n - m - 1) - NEAR)

    def off(self, m: int) -> float:
        """Return an upper bound of the chance to be off when m values are missing, m < n.

        In the tail from x on, above the mean, each term is at most ρ times the one before, where ρ is the ratio of the
        first two: P(H ≥ x) ≤ P(H = x) / (1 − ρ).
        """
        a, n = self.below, float(self.n)
        x = a - self._upper_rank(m)
        chance = np.where(x > np.minimum(m, a), 0.0, 1.0)
        tail = (x > m * a / n) & (chance > 0)
        a, x = a[tail], x[tail]
        ratio = (a - x) * (m - x) / ((x + 1) * (n - a - m + x + 1))
        first = self._choose(a, x) + self._choose(n - a, m - x) - self._choose(np.array([n]), np.array([float(m)]))
        chance[tail] = np.minimum(1.0, np.exp(first) / (1 - ratio))
        return float(chance @ self.chance)

    def _choose(self, n: Floats, k: Floats) -> Floats:
        """Return the logarithm of the binomial coefficient n over k."""
        logs = self.logs
        binomial: Floats = logs[n.astype(int)] - logs[k.astype(int)] - logs[(n - k).astype(int)]
        return binomial
