"""The section `emd_join` of a query file: what is refused and why, and the plan that follows from it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tailrace.cli.explanation import explanation
from tailrace.emd_join.chain import ChainSearch
from tailrace.emd_join.head_search import HeadSearch
from tailrace.emd_join.line_search import LineSearch
from tailrace.emd_join.planning import plan_of
from tailrace.ground.errors import Refused
from tailrace.partition.by_span import ByHash, BySpan
from tailrace.query.loading import load
from tailrace.query.query import EmdJoinQuery

QUERY = """
name: similar
kind: emd_join
streams:
  left: {source: {format: parquet, path: l}, event_time: event_time, arrival_time: arrival_time, id: id}
  right: {source: {format: parquet, path: r}, event_time: event_time, arrival_time: arrival_time, id: id}
window: {size: 5 s}
emd_join: {threshold: 0.5, histogram: hist, SETTINGS}
"""

METRIC = np.array([[0, 1, 3], [1, 0, 2.5], [3, 2.5, 0]])


def query_of(directory: Path, settings: str, file: str = QUERY) -> EmdJoinQuery:
    path = directory / "query.yaml"
    path.write_text(file.replace("SETTINGS", settings))
    query = load(path)
    assert isinstance(query, EmdJoinQuery)
    return query


def save(directory: Path, costs: object, name: str = "costs.npy") -> None:
    np.save(directory / name, costs)


@pytest.mark.parametrize(
    ("settings", "field", "wrong"),
    [
        ("ground_distance: lime", "ground_distance", "'lime' is no ground distance"),
        ("ground_distance: {}", "ground_distance", "{} is no ground distance"),
        ("ground_distance: {grid: [4], matrix: costs.npy}", "ground_distance", "is no ground distance"),
        ("ground_distance: {grid: [4, 4, 4, 4]}", "ground_distance.grid", "is no grid"),
        ("ground_distance: {grid: [4, many]}", "ground_distance.grid", "is no grid"),
        ("ground_distance: {grid: [32, 33]}", "ground_distance.grid", "is no grid"),
        ("ground_distance: {grid: [1, 1]}", "ground_distance.grid", "is no grid"),
        ("ground_distance: {matrix: away.npy}", "ground_distance.matrix", "away.npy can't be read"),
        ("ground_distance: {matrix: query.yaml}", "ground_distance.matrix", "can't be read"),
        ("ground_distance: {matrix: pickled.npy}", "ground_distance.matrix", "can't be read"),
        ("ground_distance: {matrix: costs.npy}", "ground_distance.matrix", "no metric: the distance of bins 0 and 2"),
        ("ground_distance: {matrix: large.npy}", "ground_distance.matrix", "has 1025 bins"),
        ("bins: 1", "bins", "does not fit"),
        ("bins: 64, ground_distance: {grid: [8, 8]}", "bins", "the ground distance tells the number of bins"),
        ("ground_distance: {grid: [8, 8]}, search: closed_form", "search", "only where the bins lie on a line"),
        ("method: head, span: 15", "span", "method head takes no span"),
        ("method: shuffle, feedback: 1 s", "feedback", "method shuffle takes no feedback"),
        ("scale: 0", "scale", "does not fit"),
        ("threshold: -1", "threshold", ""),
    ],
)
def test_a_wrong_section_is_refused_with_field_and_remedy(tmp_path, settings, field, wrong):
    save(tmp_path, [[0.0, 1, 9], [1, 0, 1], [9, 1, 0]])
    save(tmp_path, np.zeros((1025, 1025)), "large.npy")
    save(tmp_path, np.array([{}], object), "pickled.npy")
    file = QUERY.replace("threshold: 0.5, ", "") if settings.startswith("threshold") else QUERY
    with pytest.raises(Refused) as refused:
        query_of(tmp_path, settings, file)
    (problem,) = refused.value.problems
    assert problem.where.endswith(f":8: emd_join.{field}")
    assert wrong in problem.wrong
    assert problem.right


def test_a_key_is_refused(tmp_path):
    with pytest.raises(Refused, match=r"query\.yaml:5: streams\.left\.key: kind emd_join takes no key"):
        query_of(tmp_path, "bins: 8", QUERY.replace("id: id", "id: id, key: camera", 1))


@pytest.mark.parametrize(
    ("settings", "search", "partition", "why"),
    [
        ("bins: 8", LineSearch, BySpan, "the bins lie on a line"),
        ("ground_distance: {grid: [8]}", LineSearch, BySpan, "the bins lie on a line"),
        ("ground_distance: {matrix: line.npy}", LineSearch, BySpan, "the bins lie on a line"),
        ("method: shuffle", LineSearch, ByHash, "the bins lie on a line"),
        ("bins: 8, search: filter_chain", ChainSearch, BySpan, "is declared"),
        ("bins: 8, search: filter_chain, method: head", HeadSearch, BySpan, "is declared"),
        ("ground_distance: {grid: [2, 4]}", ChainSearch, BySpan, "need a solver"),
        ("ground_distance: {grid: [2, 4]}, method: shuffle", ChainSearch, ByHash, "need a solver"),
        ("ground_distance: {matrix: costs.npy}, method: head", HeadSearch, BySpan, "need a solver"),
    ],
)
def test_the_plan_is_the_cheapest_that_was_not_ruled_out_and_says_why(tmp_path, settings, search, partition, why):
    save(tmp_path, METRIC)
    save(tmp_path, np.abs(np.subtract.outer([0, 1, 5.0], [0, 1, 5.0])), "line.npy")
    query = query_of(tmp_path, settings)
    plan = plan_of(query.emd_join)
    assert isinstance(plan.search, search)
    assert isinstance(plan.method.partition, partition)
    lines = explanation(query)
    assert why in lines["why"]
    assert lines["partition"].startswith(query.emd_join.method)
    assert lines["partition"].endswith("over 2 tasks")


def test_scale_divides_distances_and_spans(tmp_path):
    plain, scaled = (query_of(tmp_path, f"bins: 8, scale: {scale}").emd_join for scale in (1, 4))
    assert np.array_equal(plain.costs, 4 * scaled.costs)
    assert [plan_of(section).method.width for section in (plain, scaled)] == [15, 15 / 4]


def test_a_matrix_that_changed_no_longer_fits_the_checkpoint(tmp_path):
    save(tmp_path, METRIC)
    before = query_of(tmp_path, "ground_distance: {matrix: costs.npy}").structure()
    assert query_of(tmp_path, "ground_distance: {matrix: costs.npy}").structure() == before
    save(tmp_path, METRIC * 2)
    after = query_of(tmp_path, "ground_distance: {matrix: costs.npy}").structure()
    assert {name for name in before if before[name] != after[name]} == {"emd_join.ground_distance.digest"}
