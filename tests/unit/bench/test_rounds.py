"""Rounds: contestants take turns, the first round is dropped, and ratios are those of the same round."""

from __future__ import annotations

import pytest

from bench.rounds import interleaved, median_ratio, medians


def test_contestants_take_turns_and_the_first_round_is_dropped():
    turns: list[str] = []

    def contestant(name: str, rates: list[float]):
        def run():
            turns.append(name)
            return {"rate": rates[turns.count(name) - 1]}

        return run

    told: list[str] = []
    contestants = {"a": contestant("a", [9.0, 1.0, 2.0]), "b": contestant("b", [8.0, 3.0, 4.0])}
    passes = interleaved(contestants, 2, "rate", told.append)
    assert turns == ["a", "b"] * 3
    assert passes == {"a": [{"rate": 1.0}, {"rate": 2.0}], "b": [{"rate": 3.0}, {"rate": 4.0}]}
    assert len(told) == 6
    assert sum("dropped" in line for line in told) == 2


def test_a_median_is_that_of_each_number_and_other_values_stay():
    rows = [{"rate": rate, "what": "x", "none": None} for rate in (5.0, 1.0, 2.0)]
    assert medians(rows) == {"rate": 2.0, "what": "x", "none": None}


def test_the_median_of_ratios_is_no_ratio_of_medians():
    mine, other = ([{"rate": rate} for rate in rates] for rates in ([1.0, 10.0, 100.0], [1.0, 100.0, 10.0]))
    assert median_ratio(mine, other, "rate") == pytest.approx(1.0)
    assert median_ratio(mine[::-1], other, "rate") == pytest.approx(0.1)
