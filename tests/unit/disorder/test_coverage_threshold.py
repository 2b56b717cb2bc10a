"""The coverage threshold λ_thr at each tick: which windows it is computed from, and when it is recomputed."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

from kit.draws.policy_ticks import Arrival, model_of, statistics_of
from tailrace.disorder.coverage_threshold import thresholds
from tailrace.windows.sliding import Sliding

WINDOWS = Sliding(100, 20)


class RecordingModel:
    """A fake error model that records its requests, and answers 0.99, 0.98, … in turn."""

    real = model_of("sum", "median")
    sampled, sample = real.sampled, real.sample
    names = ("value",)
    sums = ("tuples", "value:total", "value:squared")
    values: ClassVar[dict[str, str]] = {"value:doubles": "value:doubles:has"}

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []

    def threshold(self, error, risk, sums, values):
        assert tuple(sums) == self.sums
        columns = dict(zip(("tuples", "total", "squares"), sums.values(), strict=True)) | {
            "values": values["value:doubles"]
        }
        self.asked.append({"error": error, "risk": risk} | {name: each.tolist() for name, each in columns.items()})
        return 1 - len(self.asked) / 100


def steady_stream(blocks: int, group: int = 0) -> list[Arrival]:
    """Three tuples of one key in each block of 100 ms of event time; a block takes ten ticks."""
    return [Arrival(10 * i + j, 100 * i + 10 * j, group, i + j) for i in range(blocks) for j in (0, 3, 9)]


def asked(tuples: list[Arrival]) -> tuple[list[float], list[dict[str, Any]]]:
    model = RecordingModel()
    share, _ = thresholds(statistics_of(tuples, WINDOWS, model), model, 0.05, 0.1, {})
    return share.tolist(), model.asked


def test_the_threshold_is_one_until_a_window_is_complete():
    share, requests = asked(steady_stream(1))
    assert (share, requests) == ([1.0] * 3, [])


def test_the_threshold_is_computed_from_complete_disjoint_windows():
    share, requests = asked(steady_stream(3))
    assert share == [1.0] * 3 + [0.99] * 6  # computed when the second block begins, then every 16 blocks
    assert requests[0] == {
        "error": 0.05,
        "risk": 0.1,
        "tuples": [3.0],
        "total": [0 + 3 + 9],
        "squares": [0 + 9 + 81],
        "values": [],
    }


def test_the_threshold_is_recomputed_every_sixteen_windows():
    share, requests = asked(steady_stream(40))
    assert [share[3 * i] for i in (0, 1, 16, 17, 32, 33)] == [1.0, 0.99, 0.99, 0.98, 0.98, 0.97]
    assert [len(request["tuples"]) for request in requests] == [1, 17, 33]


def test_windows_of_sixteen_keys_count():
    tuples = sorted([item for group in range(30) for item in steady_stream(2, group)], key=lambda item: item.tick)
    assert asked(tuples)[1][0]["tuples"] == [3.0] * 16


def test_a_key_counts_while_its_hash_is_among_the_smallest():
    first = [Arrival(0, 0, group) for group in range(100, 116)]
    requests = asked([*first, Arrival(3, 30, 115, 5), Arrival(5, 50, 7, 5), Arrival(7, 70, 115, 5), Arrival(20, 200)])[
        1
    ]
    assert sorted(requests[0]["total"]) == [1.0] * 15 + [5.0, 6.0]  # the tuple of the last key at 70 does not count


def test_late_tuples_count_unless_their_window_is_long_past():
    tuples = [*steady_stream(18), Arrival(180, 1750), Arrival(181, 1800)]  # 1750 is late, in block 17
    assert asked(tuples)[1][1]["tuples"] == [3.0] * 17
    long_stream = steady_stream(700)
    requests = asked([*long_stream, Arrival(7001, 5), Arrival(7002, 90_000)])[1]
    assert len(requests[-1]["tuples"]) in range(500, 545)
    assert set(requests[-1]["tuples"]) == {3.0}


def test_values_are_part_of_the_request_once_there_are_a_thousand():
    tuples = [Arrival(i, 10 * i, 0, i) for i in range(4000)]
    requests = asked(tuples)[1]
    lengths = [len(request["values"]) for request in requests]
    assert lengths[0] == 0
    assert min(length for length in lengths if length) >= 1000
    assert max(lengths) == 2000
    assert requests[-1]["values"][-1] == max(requests[-1]["values"])


def test_values_are_scaled_by_the_mean_absolute_value_of_their_key():
    tuples = [Arrival(i, 10 * i, i % 2, (1000, -1)[i % 2] * (1 + i % 3)) for i in range(2400)]
    values = asked(tuples)[1][-1]["values"]
    assert sorted(set(np.round(np.abs(values), 1))) == [0.5, 1.0, 1.5]
    assert min(values) < 0 < max(values)


def test_a_tuple_whose_value_is_null_has_none():
    nulls = [Arrival(i, 10 * i, 0, None) for i in range(4000)]
    assert {len(request["values"]) for request in asked(nulls)[1]} == {0}


@pytest.mark.parametrize("cuts", [[1], [7, 8], list(range(1, 60))])
def test_thresholds_do_not_depend_on_how_ticks_are_cut_into_calls(cuts):
    tuples = sorted([item for group in range(5) for item in steady_stream(20, group)], key=lambda item: item.tick)
    whole, pieces = RecordingModel(), RecordingModel()
    share, _ = thresholds(statistics_of(tuples, WINDOWS, whole), whole, 0.05, 0.1, {})
    stream, state, shares = statistics_of(tuples, WINDOWS, pieces), {}, []
    for first, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        part, state = thresholds(stream.between(first, end, 0), pieces, 0.05, 0.1, state)
        shares += part.tolist()
    assert shares == share.tolist()
    assert pieces.asked == whole.asked
    assert np.all(np.diff([share[0], *share]) <= 0)
