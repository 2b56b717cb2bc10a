"""The number of bins of an EMD join that its declaration leaves to the source, and samples of sources."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tailrace.ground.errors import Refused, Unfit
from tailrace.query.declared import declared_query
from tailrace.query.query import Query
from tailrace.storage.layout import Layout
from tailrace.storage.manifest import changes
from tailrace.stream.source_bins import require_bins, with_bins_of_source
from tailrace.stream.source_sample import report_of, sample_sources

NOW = 1_700_000_000_000


def write(directory: Path, *bins: int | None) -> None:
    """Write a record for each number of bins; None: one without a histogram."""
    directory.mkdir(exist_ok=True)
    records = [
        {"at": NOW + n, "id": f"{directory.name}{n}", "hist": None if number is None else [1.0] * number}
        for n, number in enumerate(bins)
    ]
    (directory / "a.json").write_text("".join(json.dumps(record) + "\n" for record in records))


def query_of(directory: Path, **section: object) -> Query:
    streams = {
        side: {"source": {"format": "json", "path": str(directory / side)}, "event_time": "at", "id": "id"}
        for side in ("left", "right")
    }
    return declared_query(
        {
            "name": "near",
            "kind": "emd_join",
            "streams": streams,
            "window": {"size": "1 s"},
            "emd_join": {"threshold": 0.5, "histogram": "hist"} | section,
        }
    )


def test_the_number_of_bins_is_that_of_the_first_record(tmp_path):
    write(tmp_path / "left", 32, 7)
    write(tmp_path / "right", None, 32)
    query = query_of(tmp_path)
    assert query.structure()["emd_join.bins"] is query.structure()["emd_join.span"] is None
    fixed = require_bins(query)
    assert len(fixed.emd_join.costs) == 32
    assert fixed.structure() == query_of(tmp_path, bins=32).structure()


def test_what_is_declared_is_not_looked_up(tmp_path):
    for section in ({"bins": 8}, {"ground_distance": {"grid": [4, 4]}}):
        query = query_of(tmp_path, **section)
        assert require_bins(query) is query  # there is no source


def test_the_checkpoint_fixes_it(tmp_path):
    write(tmp_path / "left", 32)
    write(tmp_path / "right", 32)
    query = query_of(tmp_path)
    layout = Layout(tmp_path / "wh" / "near")
    manifest = layout.create_checkpoint(require_bins(query).structure(), {}, {})
    assert len(query.fixed_by(manifest.structure).emd_join.costs) == 32
    layout.require_same(manifest, query)
    layout.require_same(manifest, query_of(tmp_path, bins=32))
    with pytest.raises(Refused, match="the stream was begun with 32 bins, and emd_join does not fit that"):
        layout.require_same(manifest, query_of(tmp_path, span=40))
    assert changes(manifest, query_of(tmp_path, bins=33))["emd_join.bins"] == (32, 33)


def test_streams_of_different_bins_are_refused(tmp_path):
    write(tmp_path / "left", 32)
    write(tmp_path / "right", 64)
    with pytest.raises(Unfit, match=r"32 in file.*/left and 64 in file.*/right"):
        require_bins(query_of(tmp_path))


def test_without_a_record_it_is_asked_for(tmp_path):
    for side in ("left", "right"):
        (tmp_path / side).mkdir()
    assert with_bins_of_source(query_of(tmp_path)) == query_of(tmp_path)
    with pytest.raises(Refused, match=r"no record is there that shows the number of bins[\s\S]*bins: N"):
        require_bins(query_of(tmp_path))


def test_histograms_of_a_bin_or_none_are_refused(tmp_path):
    write(tmp_path / "left", 1, 1)
    write(tmp_path / "right", 8)
    with pytest.raises(Unfit, match="none of the first 2 records has a histogram of 2 to 1024 bins"):
        require_bins(query_of(tmp_path))


def test_a_span_that_holds_all_keys_then_is_refused(tmp_path):
    write(tmp_path / "left", 8)
    write(tmp_path / "right", 8)
    with pytest.raises(Refused, match="the first histogram has 8 bins, and emd_join does not fit that"):
        require_bins(query_of(tmp_path, span=40))


def test_a_sample_says_what_would_be_rejected(tmp_path):
    write(tmp_path / "left", 32, 7, 32)
    write(tmp_path / "right", 32)
    query = require_bins(query_of(tmp_path))
    left, right = report_of(query, sample_sources(query))
    assert (left.read, left.accepted, right.read, right.accepted) == (3, 2, 1, 1)
    head, counts, reason, first = left.lines()
    assert head.startswith(f"stream left: file://{tmp_path}/left: at int64, id string, hist list<double>")
    assert counts == "  of 3 records that were looked at 2 fit, 1 do not"
    assert reason.startswith("  1 × the histogram has not 32 bins, as a.json, line 2")
    assert first.startswith("  the first of them: a.json, line 2: the histogram has not 32 bins")
