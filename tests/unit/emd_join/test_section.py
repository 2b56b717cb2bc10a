"""The section `emd_join` of a query file: what is refused and why, and the plan that follows from it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tailrace.emd_join.chain import ChainSearch
from tailrace.emd_join.head_search import HeadSearch
from tailrace.emd_join.line_search import LineSearch
from tailrace.emd_join.planning import plan_of
from tailrace.ground.errors import Refused
from tailrace.panels.explanation import explanation
from tailrace.partition.by_span import ByHash, ByHoughCell, BySpan
from tailrace.query.joins import EmdJoinQuery
from tailrace.query.loading import load

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
        ("ground_distance: {matrix: away.npy}", "ground_distance.matrix", "away.npy can't be read: No such file"),
        ("ground_distance: {matrix: query.yaml}", "ground_distance.matrix", "is no file that np.save has written"),
        ("ground_distance: {matrix: empty.npy}", "ground_distance.matrix", "is no file that np.save has written"),
        ("ground_distance: {matrix: zip.npy}", "ground_distance.matrix", "is no file that np.save has written"),
        ("ground_distance: {matrix: cut.npy}", "ground_distance.matrix", "is no whole file"),
        ("ground_distance: {matrix: flat.npy}", "ground_distance.matrix", "is of shape (9,), not (n, n)"),
        ("ground_distance: {matrix: text.npy}", "ground_distance.matrix", "is not of numbers"),
        ("ground_distance: {matrix: }", "ground_distance.matrix", "None is no file"),
        ("ground_distance: {matrix: [1, 2]}", "ground_distance.matrix", "is no file"),
        ("ground_distance: {matrix: pickled.npy}", "ground_distance.matrix", "is no whole file"),
        ("ground_distance: {matrix: costs.npy}", "ground_distance.matrix", "no metric: the distance of bins 0 and 2"),
        ("ground_distance: {matrix: large.npy}", "ground_distance.matrix", "has 513 bins"),
        ("bins: 1", "bins", "does not fit"),
        ("bins: 64, ground_distance: {grid: [8, 8]}", "bins", "the ground distance determines the number of bins"),
        ("ground_distance: {grid: [8, 8]}, search: closed_form", "search", "only where the bins lie on a line"),
        ("method: head, span: 15", "span", "method head takes no span"),
        ("method: shuffle, feedback: 1 s", "feedback", "method shuffle takes no feedback"),
        ("scale: 0", "scale", "does not fit"),
        ("scale: 1.0e-320", "scale", "makes the longest distance inf"),
        ("span: 255", "span", "one span of 255 bins holds all keys"),
        ("ground_distance: {grid: [4, 4, 4]}, span: 15", "span", "one span of 15 bins holds all keys"),
        ("threshold: -1", "threshold", ""),
    ],
)
def test_a_wrong_section_is_refused_with_field_and_remedy(tmp_path, settings, field, wrong):
    save(tmp_path, [[0.0, 1, 9], [1, 0, 1], [9, 1, 0]])
    save(tmp_path, np.zeros((513, 513)), "large.npy")
    save(tmp_path, np.zeros(9), "flat.npy")
    save(tmp_path, np.array([["a"]]), "text.npy")
    save(tmp_path, METRIC, "cut.npy")
    (tmp_path / "cut.npy").write_bytes((tmp_path / "cut.npy").read_bytes()[:-20])
    (tmp_path / "empty.npy").touch()
    (tmp_path / "zip.npy").write_bytes(b"PK\x03\x04")
    save(tmp_path, np.array([{}], object), "pickled.npy")
    file = QUERY.replace("threshold: 0.5, ", "") if settings.startswith("threshold") else QUERY
    with pytest.raises(Refused) as refused:
        query_of(tmp_path, settings, file)
    (problem,) = refused.value.problems
    assert problem.where.endswith(f":8: emd_join.{field}")
    assert wrong in problem.fault
    assert problem.remedy


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
        ("bins: 8, search: filter_chain, method: head", HeadSearch, ByHoughCell, "is declared"),
        ("ground_distance: {grid: [2, 4]}", ChainSearch, BySpan, "need a solver"),
        ("ground_distance: {grid: [2, 4]}, method: shuffle", ChainSearch, ByHash, "need a solver"),
        ("ground_distance: {matrix: costs.npy}, method: head", HeadSearch, ByHoughCell, "need a solver"),
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
    plain, scaled = (query_of(tmp_path, f"bins: 64, span: 15, scale: {scale}").emd_join for scale in (1, 4))
    assert np.array_equal(plain.costs, 4 * scaled.costs)
    assert [plan_of(section).method.width for section in (plain, scaled)] == [15, 15 / 4]


def test_without_a_span_it_is_the_papers_share_of_the_longest_distance(tmp_path):
    assert query_of(tmp_path, "bins: 256").emd_join.span_width == 15
    assert query_of(tmp_path, "ground_distance: {grid: [4, 4]}").emd_join.span_width == pytest.approx(
        18**0.5 * 15 / 255
    )


def test_a_default_that_is_written_out_fits_the_checkpoint(tmp_path):
    plain, written = (query_of(tmp_path, more) for more in ("", "bins: 256, span: 15, feedback: 500 ms"))
    assert plain.with_bins(256).structure() == written.structure()
    assert plain.structure() != query_of(tmp_path, "span: 14").structure()


def test_a_matrix_that_moved_fits_the_checkpoint(tmp_path):
    save(tmp_path, METRIC, "a.npy")
    save(tmp_path, METRIC, "b.npy")
    first, second = (query_of(tmp_path, f"ground_distance: {{matrix: {name}.npy}}") for name in "ab")
    assert first.structure() == second.structure()


def test_a_matrix_that_changed_no_longer_fits_the_checkpoint(tmp_path):
    save(tmp_path, METRIC)
    before = query_of(tmp_path, "ground_distance: {matrix: costs.npy}").structure()
    assert query_of(tmp_path, "ground_distance: {matrix: costs.npy}").structure() == before
    save(tmp_path, METRIC + np.diag([0.1, 0], 1) + np.diag([0.1, 0], -1))  # its longest distance is the same
    after = query_of(tmp_path, "ground_distance: {matrix: costs.npy}").structure()
    assert {name for name in before if before[name] != after[name]} == {"emd_join.ground_distance.digest"}
