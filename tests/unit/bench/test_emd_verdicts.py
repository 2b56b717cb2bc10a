"""The verdicts on paper 000 follow from the tables of gains, filters and tasks, and can be contradicted."""

from __future__ import annotations

import pytest

from bench.emd.verdicts import CLAIMS
from bench.verdicts import Outcome, Verdict


def verdict(beginning: str, **tables) -> Verdict:
    (claim,) = [claim for claim in CLAIMS if claim.text.startswith(beginning)]
    return claim.judge(tables)


def gains(over: str, *settings: tuple[float | None, str | None]) -> list[dict]:
    row = {"gain": "fewer exact distances", "over": over}
    return [row | {"share median": median, "beyond A/A": beyond} for median, beyond in settings]


@pytest.mark.parametrize(
    ("settings", "outcome", "why"),
    [
        ([(0.4, "yes"), (0.2, "yes")], Outcome.CONFIRMED, ""),
        ([(0.4, "yes"), (0.1, "no")], Outcome.PARTLY, "no conclusion in 1"),
        ([(0.4, "yes"), (0.05, "yes")], Outcome.PARTLY, "less than the paper's in 1"),
        ([(0.4, "yes"), (0.3, "yes"), (-0.3, "a loss")], Outcome.PARTLY, "a loss beyond A/A in 1"),
        ([(0.4, "yes"), (-0.3, "a loss")], Outcome.CONTRADICTED, "a loss beyond A/A in 1"),
        ([(0.05, "yes"), (-0.3, "a loss")], Outcome.CONTRADICTED, None),
        ([(0.4, "no"), (None, None)], Outcome.NOT_MEASURABLE, "no conclusion in 1"),
        ([(0.4, "no: too few"), (0.4, "no: not in every round")], Outcome.NOT_MEASURABLE, "no conclusion in 2"),
        (
            [(0.4, "yes"), (-0.3, "a loss"), *[(0.2, "no")] * 9],
            Outcome.NOT_MEASURABLE,
            "a loss beyond A/A in 1; no conclusion in 9",
        ),
    ],
)
def test_a_gain_is_confirmed_where_each_setting_has_the_papers_beyond_chance(settings, outcome, why):
    judged = verdict("12 to 36 % fewer", line_gains=gains("shuffle", *settings))
    assert judged.outcome == outcome
    assert why is None or judged.why == why


def test_a_gain_far_beyond_the_papers_says_that_the_baseline_is_weaker():
    judged = verdict("15 to 40 % fewer", head_gains=gains("head", (0.95, "yes")))
    assert judged.outcome == Outcome.PARTLY
    assert judged.why == "more than the paper's: Head-SJ is weaker here than there"
    assert verdict("15 to 40 % fewer", head_gains=gains("head", (0.3, "yes"))).outcome == Outcome.CONFIRMED


def filters(triangle: float, feasible: float) -> list[dict]:
    place = {"case": "a", "θ": 0.5, "direction": "R queries S"}
    both = {"emd_ddsj": (triangle, feasible), "shuffle": (0.2, 0.1)}
    return [place | {"method": name, "share triangle": a, "share feasible": b} for name, (a, b) in both.items()]


@pytest.mark.parametrize(
    ("shares", "outcome"),
    [
        ((0.4, 0.2), Outcome.CONFIRMED),
        ((0.4, 0.15), Outcome.PARTLY),
        ((0.39, 0.19), Outcome.CONTRADICTED),
        ((0.0, 0.0), Outcome.CONTRADICTED),
    ],
)
def test_filters_decide_twice_as_many_or_not(shares, outcome):
    assert verdict("locality lets", line_filters=filters(*shares)).outcome == outcome


@pytest.mark.parametrize(
    ("rates", "outcome"),
    [
        ((250, 600, 1200), Outcome.CONFIRMED),
        ((250, 260, 270), Outcome.PARTLY),
        ((200, 1300, 1200), Outcome.CONTRADICTED),
    ],
)
def test_throughput_by_tasks_is_linear_or_not(rates, outcome):
    rows = [{"tasks": n, "R-tuples/s, emd_ddsj": rate} for n, rate in zip((2, 5, 17), rates, strict=True)]
    assert verdict("throughput rises linearly", chain_work=rows).outcome == outcome
