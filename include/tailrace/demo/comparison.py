"""Compares the demonstration's answers, as streamed and as corrected, with the true ones."""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa

from tailrace.demo.true_pairs import given_pairs, true_pairs
from tailrace.demo.truth import given, share_found, share_off, share_right, truth
from tailrace.disorder.cache_duration import CacheDuration
from tailrace.disorder.promising_policy import PromisingPolicy
from tailrace.query.joins import EmdJoinQuery
from tailrace.query.query import Query
from tailrace.query.windowed import TopKQuery


class Comparison(NamedTuple):
    """A comparison with the truth.

    Attributes
    ----------
    truth : str
        What there is truly, in words: 12 windows.
    shares : dict of str to list
        By a label what share of that is so as streamed, and after correction.
    is_right : bool
        Whether every corrected answer is right, and there are no others.
    """

    truth: str
    shares: dict[str, list[float]]
    is_right: bool


def compare(query: Query, streamed: pa.Table, corrected: pa.Table) -> Comparison:
    """Compare both versions of a query's answers with the truth."""
    if isinstance(query, EmdJoinQuery):
        return _pairs(query, streamed, corrected)
    return _windows(query, streamed, corrected)


def _pairs(query: EmdJoinQuery, streamed: pa.Table, corrected: pa.Table) -> Comparison:
    true, versions = true_pairs(query), [given_pairs(answers) for answers in (streamed, corrected)]
    shares = {
        "pairs found": [len(pairs & true) / len(true) for pairs in versions],
        "of these, true": [len(pairs & true) / len(pairs) if pairs else 1.0 for pairs in versions],
    }
    return Comparison(f"{len(true):,} pairs", shares, versions[1] == true and corrected.num_rows == len(true))


def _windows(query: Query, streamed: pa.Table, corrected: pa.Table) -> Comparison:
    versions, true, policy = (streamed, corrected), truth(query), query.policy
    right_shares = [share_right(answers, true) for answers in versions]
    shares = {"windows whole, and ranked right" if isinstance(query, TopKQuery) else "windows right": right_shares}
    if isinstance(policy, PromisingPolicy):
        label = f"windows {policy.error:.0%} or more off (promised: {policy.risk:.0%} at most)"
        shares[label] = [share_off(answers, true, policy.error) for answers in versions]
    if isinstance(query, TopKQuery):
        promise = f" (promised: {policy.accuracy:.0%})" if isinstance(policy, CacheDuration) else ""
        shares[f"of the correct top-k{promise}"] = [share_found(answers, true) for answers in versions]
    is_right = right_shares[1] == 1 and len(given(corrected)) == len(true)
    return Comparison(f"{len(true):,} windows", shares, is_right)
