"""λ_thr at each tick: of which windows it is, and when it is measured."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tailrace.disorder.coverage_threshold import thresholds
from tailrace.windows.sliding import Sliding
from ticking import Came, seen

WINDOWS = Sliding(100, 20)


class Told:
    """A promise that notes what it is asked, and answers one less a hundredth for each question."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []

    def threshold(self, error, risk, tuples, total, squares, values):
        columns = dict(zip(("tuples", "total", "squares", "values"), (tuples, total, squares, values), strict=True))
        self.asked.append({"error": error, "risk": risk} | {name: each.tolist() for name, each in columns.items()})
        return 1 - len(self.asked) / 100


def steady(blocks: int, group: int = 0) -> list[Came]:
    """Three tuples of one key in each 100 ms of event time, ten ticks each."""
    return [Came(10 * i + j, 100 * i + 10 * j, group, i + j) for i in range(blocks) for j in (0, 3, 9)]


def asked(came: list[Came]) -> tuple[list[float], list[dict[str, Any]]]:
    told = Told()
    share, _ = thresholds(seen(came, WINDOWS, told), 0.05, 0.1, {})
    return share.tolist(), told.asked


def test_it_is_one_until_windows_are_full():
    share, told = asked(steady(1))
    assert (share, told) == ([1.0] * 3, [])


def test_it_is_that_of_full_windows_side_by_side():
    share, told = asked(steady(3))
    assert share == [1.0] * 3 + [0.99] * 6  # asked when the second block begins, and not again for sixteen
    assert told[0] == {
        "error": 0.05,
        "risk": 0.1,
        "tuples": [3.0],
        "total": [0 + 3 + 9],
        "squares": [0 + 9 + 81],
        "values": [],
    }


def test_it_is_measured_anew_every_sixteen_windows():
    share, told = asked(steady(40))
    assert [share[3 * i] for i in (0, 1, 16, 17, 32, 33)] == [1.0, 0.99, 0.99, 0.98, 0.98, 0.97]
    assert [len(one["tuples"]) for one in told] == [1, 17, 33]


def test_each_key_has_its_windows_and_only_sixteen_count():
    came = sorted([each for group in range(30) for each in steady(2, group)], key=lambda each: each.tick)
    assert asked(came)[1][0]["tuples"] == [3.0] * 16


def test_a_key_counts_while_it_is_among_the_smallest():
    first = [Came(0, 0, group) for group in range(100, 116)]
    told = asked([*first, Came(3, 30, 115, 5), Came(5, 50, 7, 5), Came(7, 70, 115, 5), Came(20, 200)])[1]
    assert sorted(told[0]["total"]) == [1.0] * 15 + [5.0, 6.0]  # what came of the last one at 70 does not count


def test_late_tuples_count_and_those_of_long_ago_do_not():
    came = [*steady(18), Came(180, 1750), Came(181, 1800)]  # late for the 17th block
    assert asked(came)[1][1]["tuples"] == [3.0] * 17
    many = steady(700)
    told = asked([*many, Came(7001, 5), Came(7002, 90_000)])[1]
    assert len(told[-1]["tuples"]) in range(500, 545)
    assert set(told[-1]["tuples"]) == {3.0}


def test_values_are_told_once_there_are_a_thousand():
    many = [Came(i, 10 * i, 0, i) for i in range(4000)]
    told = asked(many)[1]
    lengths = [len(one["values"]) for one in told]
    assert lengths[0] == 0
    assert min(length for length in lengths if length) >= 1000
    assert max(lengths) == 2000
    assert told[-1]["values"][-1] == max(told[-1]["values"])


def test_values_are_told_over_the_mean_size_of_their_keys():
    many = [Came(i, 10 * i, i % 2, (1000, -1)[i % 2] * (1 + i % 3)) for i in range(2400)]
    values = asked(many)[1][-1]["values"]
    assert sorted(set(np.round(np.abs(values), 1))) == [0.5, 1.0, 1.5]
    assert min(values) < 0 < max(values)


def test_what_is_no_single_value_is_no_value():
    pairs = [Came(i, 10 * i, 0, 1) for i in range(4000) for _ in (0, 1)]
    assert {len(one["values"]) for one in asked(pairs)[1]} == {0}


@pytest.mark.parametrize("cuts", [[1], [7, 8], list(range(1, 60))])
def test_it_is_the_same_in_pieces(cuts):
    came = sorted([each for group in range(5) for each in steady(20, group)], key=lambda each: each.tick)
    whole, pieces = Told(), Told()
    share, _ = thresholds(seen(came, WINDOWS, whole), 0.05, 0.1, {})
    stream, kept, found = seen(came, WINDOWS, pieces), {}, []
    for first, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        part, kept = thresholds(stream.between(first, end, 0), 0.05, 0.1, kept)
        found += part.tolist()
    assert found == share.tolist()
    assert pieces.asked == whole.asked
    assert np.all(np.diff([share[0], *share]) <= 0)
