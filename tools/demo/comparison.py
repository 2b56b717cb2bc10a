"""Compares the demonstration's answers, as streamed and as corrected, with the true ones."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from demo.true_pairs import true_pairs
from demo.true_spatial_pairs import Pairs, true_spatial_pairs
from demo.truth import given, share_found, share_off, share_right, truth
from tailrace.disorder.cache_duration import CacheDuration
from tailrace.disorder.promising_policy import PromisingPolicy
from tailrace.query.joins import EmdJoinQuery, SpatialJoinQuery
from tailrace.query.query import Query
from tailrace.query.windowed import TopKQuery

_METRES_OFF = 1e-6  # by which distances of two computations may differ


class Comparison(NamedTuple):
    """A comparison with the truth.

    Attributes
    ----------
    truth : str
        The truth in words: 12 windows.
    shares : dict of str to list
        By label, the share of the truth as streamed and, where tuples are late, after correction.
    is_right : bool
        Whether every final answer is right, and there are no others.
    """

    truth: str
    shares: dict[str, list[float]]
    is_right: bool


def compare(query: Query, streamed: pa.Table, corrected: pa.Table | None, sent: Path | None = None) -> Comparison:
    """Compare the versions of a query's answers with the truth; None: no tuple is late, and nothing is corrected.

    `sent`: the files with what was sent to the topic that the query reads.
    """
    versions = [streamed] if corrected is None else [streamed, corrected]
    if isinstance(query, EmdJoinQuery):
        return _pairs(dict.fromkeys(true_pairs(query)), versions)
    if isinstance(query, SpatialJoinQuery):
        return _pairs(true_spatial_pairs(query), versions)
    return _windows(query, versions, sent)


def _pairs(true: Pairs, versions: list[pa.Table]) -> Comparison:
    given = [_given_pairs(answers) for answers in versions]
    right_counts = [sum(_is_right(pair, distance, true) for pair, distance in pairs.items()) for pairs in given]
    counts = list(zip(right_counts, map(len, given), strict=True))
    shares = {
        "pairs found": [right / len(true) for right in right_counts],
        "of these, true": [right / all_ if all_ else 1.0 for right, all_ in counts],
    }
    is_right = right_counts[-1] == len(true) == versions[-1].num_rows
    return Comparison(f"{len(true):,} pairs", shares, is_right)


def _given_pairs(answers: pa.Table) -> Pairs:
    """Return the pairs of some answers, with their distances if these were requested."""
    ids = zip(answers["left_id"].to_pylist(), answers["right_id"].to_pylist(), strict=True)
    has_distances = "distance" in answers.column_names
    distances = answers["distance"].to_pylist() if has_distances else [None] * answers.num_rows
    return dict(zip(ids, distances, strict=True))


def _is_right(pair: tuple[str, str], distance: float | None, true: Pairs) -> bool:
    """Return whether a pair is true, and has the true distance if there is one."""
    exact = true.get(pair)
    if exact is None:
        return pair in true
    return distance is not None and abs(distance - exact) <= _METRES_OFF


def _windows(query: Query, versions: list[pa.Table], sent: Path | None) -> Comparison:
    true, policy = truth(query, sent), query.policy
    right_shares = [share_right(answers, true) for answers in versions]
    shares = {"windows whole, and ranked right" if isinstance(query, TopKQuery) else "windows right": right_shares}
    if isinstance(policy, PromisingPolicy):
        label = f"windows ≥ {policy.error:.0%} off (promised: {policy.risk:.0%} at most)"
        shares[label] = [share_off(answers, true, policy.error) for answers in versions]
    if isinstance(query, TopKQuery):
        promise = f" (promised: {policy.accuracy:.0%})" if isinstance(policy, CacheDuration) else ""
        shares[f"of the correct top-k{promise}"] = [share_found(answers, true) for answers in versions]
    is_right = right_shares[-1] == 1 and len(given(versions[-1])) == len(true)
    return Comparison(f"{len(true):,} windows", shares, is_right)
