"""What the page of paper 001 concludes: the share of right calibrations, and the verdicts on the promise and a jump."""

from __future__ import annotations

import numpy as np
import pytest

from bench.topk import promise
from bench.topk.paper_query import smallest_slack_ms
from bench.topk.verdicts import CLAIMS
from bench.verdicts import Outcome, Verdict


def verdict(beginning: str, **tables) -> Verdict:
    (claim,) = [claim for claim in CLAIMS if claim.text.startswith(beginning)]
    return claim.judge(tables)


@pytest.mark.parametrize(("share", "is_right"), [(0.0, False), (0.7, False), (1.0, True), (1.2, True), (1.3, False)])
def test_a_calibration_is_right_where_k_nearly_keeps_the_promise_and_is_not_much_too_long(share, is_right):
    best = smallest_slack_ms(6_000)
    row = promise._row("search", 6_000, np.array([round(share * best)] * 4), 0.01)
    assert row["share right"] == is_right
    assert row["mean K s"] == pytest.approx(share * best / 1000, abs=0.001)


def test_where_no_wait_is_needed_a_right_one_is_a_tenth_of_a_second_at_most():
    assert smallest_slack_ms(1_000) == 0
    assert promise._row("search", 1_000, np.array([0, 100, 200, 5_000]), 0.01)["share right"] == 0.5


def settled(paper: float, others: float) -> list[dict]:
    rates = {"paper": paper, "search": others, "two_scales": others}
    return [{"method": name, "hit(K), mean": 0.96, "hit(K), 5 %": low} for name, low in rates.items()]


def test_the_promise_is_judged_by_the_papers_rule_alone_and_the_verdict_says_so():
    assert verdict("the accuracy stays", settled=settled(0.9, 0.95)).here.startswith("judged by `paper`")
    assert verdict("the accuracy stays", settled=settled(0.95, 0.5)).outcome == Outcome.CONFIRMED
    assert verdict("the accuracy stays", settled=settled(0.9, 0.95)).outcome == Outcome.PARTLY
    kept_by_one = verdict("the accuracy stays", settled=settled(0.95, 0.95) + settled(0.9, 0.95))
    assert kept_by_one.outcome == Outcome.PARTLY, "each mean delay counts"
    worse = [row | {"hit(K), mean": 0.9} for row in settled(0.9, 0.95)]
    assert verdict("the accuracy stays", settled=worse).outcome == Outcome.CONTRADICTED


@pytest.mark.parametrize(
    ("ours", "papers", "outcome"),
    [((3, 1), (10, 1), "confirmed"), ((3, 1), (112, 1), "confirmed in part"), ((30, 11), (112, 50), "contradicted")],
)
def test_a_jump_is_followed_where_few_calibrations_do_at_each_floor(ours, papers, outcome):
    rows = [
        {"rule": rule, "floor s": floor, "calibrations": count}
        for rule, counts in (("ours", ours), ("the paper's", papers))
        for floor, count in zip((0.1, 1.5), counts, strict=True)
    ]
    judged = verdict("the cache duration follows", needed=rows)
    assert judged.outcome == outcome
    assert f"floors of 0.1, 1.5 s: {ours[0]}, {ours[1]} calibrations, by the paper's rule {papers[0]}" in judged.here
