"""Comparison of contestants over rounds: medians and ranges of ratios, beside those of one method run twice (A/A)."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from bench.emd.regime_cases import AGAIN, OURS, SHUFFLE
from bench.progress import Echo, Row

GAINS: dict[str, tuple[str, Callable[[float, float], float]]] = {
    "exact": ("fewer exact distances", lambda ours, other: 1 - ours / other),
    "work ms": ("less CPU", lambda ours, other: 1 - ours / other),
    "R-tuples/s": ("more throughput", lambda ours, other: ours / other - 1),
    "latency ms": ("less latency", lambda ours, other: 1 - ours / other),
    "p50 s": ("less latency, p50", lambda ours, other: 1 - ours / other),
    "p95 s": ("less latency, p95", lambda ours, other: 1 - ours / other),
}
"""The gains by the figure that they compare: their name, and how they follow from ours and the other's."""

FEWEST = 30
"""The exact distances that a baseline needs, in the median of the rounds, for a gain in their number to count.

Of fewer, chance alone moves the number by a fifth (1 / √30) and more.
"""


@dataclass(frozen=True)
class Comparison:
    """The figures of all contestants at one setting, a row for each round that counts."""

    setting: Row
    rows: dict[str, list[Row]]

    def add(self, rows: Mapping[str, Row]) -> None:
        """Add a round."""
        for name, row in rows.items():
            self.rows[name].append(row)

    def medians(self) -> Row:
        """Return the medians of the contestants, and the ranges of their exact distances."""
        shuffle = self.rows[SHUFFLE]
        row: Row = dict(self.setting) | {"rounds": len(shuffle), "pairs": _median(shuffle, "pairs")}
        row |= {"share solving": _median(shuffle, "solving")}
        for name, rows in self.rows.items():
            exact = [each["exact"] for each in rows]
            row[name] = f"{statistics.median(exact):,.0f} ({min(exact):,} to {max(exact):,})"
        return row

    def work(self) -> Row:
        """Return the medians of CPU, throughput, latency and imbalance of ours and of ShuffleJ."""
        row: Row = dict(self.setting)
        for name in (OURS, SHUFFLE):
            row |= {f"CPU ms, {name}": _median(self.rows[name], "work ms")}
            row |= {f"R-tuples/s, {name}": _median(self.rows[name], "R-tuples/s")}
            row |= {f"latency ms, {name}": _median(self.rows[name], "latency ms")}
            row |= {f"imbalance of work, {name}": _median(self.rows[name], "imbalance of work")}
        return row

    def by_contestant(self, *measures: str) -> Iterator[Row]:
        """Yield a row for each contestant: the medians of some measures, and the range of the first of them."""
        for name, rows in self.rows.items():
            if name != AGAIN:
                row: Row = dict(self.setting) | {"method": name, "rounds": len(rows)}
                first = [each[measures[0]] for each in rows]
                row |= {measures[0]: statistics.median(first), "least": min(first), "greatest": max(first)}
                yield row | {measure: _median(rows, measure) for measure in measures[1:]}

    def gains(self) -> Iterator[Row]:
        """Yield what EMD-DDSJ gains over each other contestant, and whether that counts, see `judged`.

        There is a gain for each measure that the rounds have.
        """
        measured = [measure for measure in GAINS if measure in self.rows[OURS][0]]
        for measure in measured:
            gain, chance = GAINS[measure][0], self._ratios(AGAIN, SHUFFLE, measure)
            for name in self.rows:
                if name not in (OURS, AGAIN):
                    solves = _median(self.rows[name], measure) if measure == "exact" else None
                    yield dict(self.setting) | _gain(gain, name, self._ratios(OURS, name, measure), chance, solves)

    def _ratios(self, one: str, other: str, measure: str) -> list[float]:
        ratio = GAINS[measure][1]
        rounds = zip(self.rows[one], self.rows[other], strict=True)
        return [ratio(mine[measure], its[measure]) for mine, its in rounds if its[measure]]


def compete(
    setting: Row,
    contestants: Sequence[str],
    rounds: int,
    start_round: Callable[[int], Callable[[str], Row]],
    measure: str,
    echo: Echo,
    same_pairs: bool = True,
) -> Comparison:
    """Let contestants take turns in rounds, of which the first is dropped; another one begins in each round.

    Parameters
    ----------
    start_round : callable
        Takes the number of a round, from 0, and returns what runs a contestant in it, by name.
    measure : str
        The figure that `echo` shows of each run.
    same_pairs : bool
        Whether all contestants of a round have to find the same number of pairs.

    Raises
    ------
    RuntimeError
        When they do not.
    """
    runs = Comparison(setting, {name: [] for name in contestants})
    for number in range(rounds + 1):
        run, first = start_round(number), number % len(contestants)
        rows = {name: run(name) for name in [*contestants[first:], *contestants[:first]]}
        if same_pairs and len({row["pairs"] for row in rows.values()}) > 1:
            raise RuntimeError(f"{setting}, round {number}: the methods do not find the same pairs: {rows}")
        shown = ", ".join(f"{name} {row[measure]:,.4g}" for name, row in rows.items())
        echo(f"{setting}, round {number}{'' if number else ' (dropped)'}, {measure}: {shown}")
        if number:
            runs.add(rows)
    return runs


def judged(gain: Row, solves: float | None) -> str:
    """Judge a gain by its ratios in the rounds: "yes" where it counts, else what speaks against it.

    A loss needs less proof than a gain: its median beyond the spread of A/A.

    Parameters
    ----------
    gain : dict
        Has the least, the median and the greatest share, and the spread of A/A.
    solves : float, optional
        The baseline's exact distances, where they are what is compared.
    """
    median, spread = gain["share median"], gain["share A/A"]
    if abs(median) <= spread:
        return "no"
    if median < 0:
        return "a loss"
    if solves is not None and solves < FEWEST:
        return "no: too few"
    return "yes" if gain["share least"] > 0 else "no: not in every round"


def _gain(gain: str, name: str, ratios: list[float], chance: list[float], solves: float | None) -> Row:
    row: Row = {"gain": gain, "over": name, "rounds": len(ratios)}
    if not ratios or not chance:
        return row | dict.fromkeys(("share least", "share median", "share greatest", "share A/A", "beyond A/A"))
    row |= {"share least": min(ratios), "share median": statistics.median(ratios), "share greatest": max(ratios)}
    row |= {"share A/A": max(map(abs, chance))}
    return row | {"beyond A/A": judged(row, solves)}


def _median(rows: list[Row], measure: str) -> float:
    return float(statistics.median(row[measure] for row in rows))
