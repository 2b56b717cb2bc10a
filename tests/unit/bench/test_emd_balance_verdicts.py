"""The verdicts on the balance of paper 000: best settings whose rounds are apart, and imbalance by both loads."""

from __future__ import annotations

import pytest

from bench.emd import balance
from bench.emd.verdicts import CLAIMS
from bench.verdicts import Outcome, Verdict

EXACT, WORK, SPEED = "imbalance of the run", "imbalance of work", "R-tuples/s"
DEFAULT = {"tasks": balance.TASKS, "feedback ms": balance.FEEDBACK_MS, "span": balance.SPAN}


def verdict(beginning: str, rows: list[dict]) -> Verdict:
    (claim,) = [claim for claim in CLAIMS if claim.text.startswith(beginning)]
    return claim.judge({"balance": rows})


def figures(spread: float | None, **values: float) -> dict:
    """The medians of figures, and the ranges that go so far to both sides."""
    named = {{"exact": EXACT, "work": WORK, "speed": SPEED}[name]: value for name, value in values.items()}
    if spread is None:
        return named
    ranges = {f"{name}, least": value - spread for name, value in named.items()}
    return named | ranges | {f"{name}, greatest": value + spread for name, value in named.items()}


def rows_of(setting: str, values: dict[int, dict]) -> list[dict]:
    """The rows of EMD-DDSJ in both joins by the values of a setting."""
    joins = ("S ⋈ SS", "S ⋈ M")
    ours = {"method": "emd_ddsj"} | DEFAULT
    return [{"join": join} | ours | {setting: value} | row for join in joins for value, row in values.items()]


@pytest.mark.parametrize(
    ("at_500", "at_2500", "spread", "outcome"),
    [
        (0.5, 0.2, 0.1, Outcome.CONFIRMED),
        (0.5, 0.2, 0.2, Outcome.NOT_MEASURABLE),
        (0.2, 0.5, 0.1, Outcome.CONTRADICTED),
        (0.2, 0.5, 0.2, Outcome.NOT_MEASURABLE),
        (0.2, 0.5, None, Outcome.NOT_MEASURABLE),
        (0.5, 0.2, None, Outcome.NOT_MEASURABLE),
    ],
)
def test_a_period_is_best_where_its_range_is_apart_from_the_papers(at_500, at_2500, spread, outcome):
    values = {500: at_500, 2500: at_2500}
    rows = rows_of("feedback ms", {at: figures(spread, exact=each, work=each) for at, each in values.items()})
    assert verdict("a feedback period of 2.5 s", rows).outcome == outcome


def test_one_setting_alone_has_no_verdict():
    with pytest.raises(LookupError, match="one span alone"):
        verdict("a span of 15", rows_of("span", {15: figures(1.0, speed=9.0)}))


def test_the_papers_setting_is_apart_from_every_other_one():
    values = {500: 0.9, 1000: 0.35, 2500: 0.2, 5000: 0.9}
    rows = rows_of("feedback ms", {at: figures(0.1, exact=each, work=each) for at, each in values.items()})
    assert verdict("a feedback period of 2.5 s", rows).outcome == Outcome.NOT_MEASURABLE


@pytest.mark.parametrize(
    ("exact", "work", "outcome"),
    [
        ((0.5, 0.2), (0.5, 0.2), Outcome.CONFIRMED),
        ((0.5, 0.2), (0.2, 0.5), Outcome.PARTLY),
        ((0.2, 0.5), (0.5, 0.2), Outcome.PARTLY),
        ((0.2, 0.5), (0.2, 0.5), Outcome.CONTRADICTED),
        ((0.5, 0.2), (0.21, 0.2), Outcome.PARTLY),
        ((0.2, 0.5), (0.21, 0.2), Outcome.CONTRADICTED),
    ],
)
def test_a_period_is_judged_by_exact_distances_and_by_work(exact, work, outcome):
    values = {at: figures(0.1, exact=exact[i], work=work[i]) for i, at in enumerate((500, 2500))}
    judged = verdict("a feedback period of 2.5 s", rows_of("feedback ms", values))
    assert judged.outcome == outcome
    assert "by imbalance of exact distances: S ⋈ SS" in judged.here
    assert "by imbalance of work: S ⋈ SS" in judged.here


@pytest.mark.parametrize(
    ("at_15", "spread", "outcome"),
    [
        (900.0, 10.0, Outcome.CONFIRMED),
        (100.0, 10.0, Outcome.CONTRADICTED),
        (501.0, 10.0, Outcome.NOT_MEASURABLE),
        (499.0, 10.0, Outcome.NOT_MEASURABLE),
    ],
)
def test_the_span_with_the_greatest_throughput_has_the_shortest_run(at_15, spread, outcome):
    rows = rows_of("span", {5: figures(spread, speed=500.0), 15: figures(spread, speed=at_15)})
    judged = verdict("a span of 15", rows)
    assert judged.outcome == outcome
    assert ("overlap" in judged.why) == (outcome == Outcome.NOT_MEASURABLE)


@pytest.mark.parametrize(
    ("exact", "work", "outcome"),
    [
        ((0.3, 1.0), (0.3, 1.0), Outcome.CONFIRMED),
        ((0.3, 0.8), (0.3, 1.0), Outcome.PARTLY),
        ((0.3, 1.0), (0.5, 1.6), Outcome.PARTLY),
        ((0.5, 1.6), (0.3, 1.0), Outcome.PARTLY),
        ((0.5, 1.0), (0.3, 1.0), Outcome.CONTRADICTED),
        ((0.5, 1.0), (0.5, 1.0), Outcome.CONTRADICTED),
    ],
)
def test_the_balance_of_the_methods_is_judged_by_exact_distances_and_by_work(exact, work, outcome):
    imbalances = {"emd_ddsj": (exact[0], work[0]), "shuffle": (0.2, 0.2), "head": (exact[1], work[1])}
    rows = [
        {"join": join, "method": name, "tasks": 5, EXACT: both[0], WORK: both[1]}
        for join in ("S ⋈ SS", "S ⋈ M")
        for name, both in imbalances.items()
    ]
    judged = verdict("EMD-DDSJ is slightly less balanced", rows)
    assert judged.outcome == outcome
    assert f"imbalance of exact distances: S ⋈ SS {exact[0]:g} / 0.2 / {exact[1]:g}," in judged.here
