"""Spatial joins as a panel: cells against the tables' rows by plain Python, and the dimension table's versions."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest

from kit.runs.joined_streams import join, near, write_streams
from kit.runs.local_driver import Driver
from kit.runs.shown import shown, view_of
from kit.runs.table_runs import VERSIONS, make_query, start, write_stream, write_table
from tailrace.panels.kind import PANEL
from tailrace.panels.kinds import spatial_join as panel
from tailrace.partition.grid import Grid
from tailrace.storage.tables import Tables
from tailrace.stream.local_stream import run

GRID = Grid((0.0, 0.0, 10.0, 10.0), 8)


@pytest.fixture(scope="module")
def joined(tmp_path_factory):
    """A join by cells in which no tuple is late."""
    directory = tmp_path_factory.mktemp("near")
    write_streams(directory, 360)
    query = join(directory, near(), k="1 s")
    Driver(query, directory / "wh").run(batch_rows=60, flush=True)
    return view_of(directory / "wh", query)


def loads_of(view):
    """The load by cell in the rows of metrics."""
    return [(row, dict(row["loads"] or ())) for row in view.tables.read("metrics").to_pylist()]


def load_by_cell(view):
    """The load of each cell by its number."""
    found = defaultdict(float)
    for _, loads in loads_of(view):
        for cell, load in zip(loads.get("cell", []), loads.get("load", []), strict=True):
            found[int(cell)] += load
    return found


def shown_by_cell(cells):
    """The same of cells that are shown, whose numbers follow from the points in their middles."""
    x, y = (np.array([each[name] for each in cells]) * 10 / 8 + 0.6 for name in ("x", "y"))
    return dict(zip(GRID.cell(x, y).tolist(), [each["load"] for each in cells], strict=True))


def test_each_cell_has_the_pairs_that_were_found_in_it(joined):
    answer, expected = shown(PANEL, joined), load_by_cell(joined)
    assert shown_by_cell(answer["cells"]) == expected
    assert answer["cells_total"] == len(expected) > 10
    assert (answer["grid"], answer["extent"]) == (8, [0, 0, 10, 10])
    assert sum(expected.values()) == joined.tables.read("results").num_rows, "none is late, and there is no where"


def test_of_many_cells_the_most_loaded_are_shown(joined, monkeypatch):
    monkeypatch.setattr(panel, "MOST_CELLS", 5)
    answer, expected = shown(PANEL, joined), load_by_cell(joined)
    most = shown_by_cell(answer["cells"])
    assert sorted(most.values()) == sorted(expected.values())[-5:]
    assert most.items() <= expected.items()
    assert answer["note"] == f"the 5 most loaded of {len(expected)} cells"


def test_the_cells_of_few_batches_are_held_at_a_time(joined, monkeypatch):
    whole, batches, held = shown(PANEL, joined), Tables.batches, []

    def counted(*arguments):
        for rows in batches(*arguments):
            held.append(rows.num_rows)
            yield rows

    monkeypatch.setattr(panel, "AT_ONCE", 1)
    monkeypatch.setattr(Tables, "batches", counted)
    assert shown(PANEL, joined) == whole
    assert max(held) == 1
    assert sum(held) == joined.tables.read("metrics").num_rows


def test_the_load_of_a_task_is_that_of_its_cells(joined):
    by_time = [defaultdict(float) for _ in range(3)]
    for row, loads in loads_of(joined):
        by_time[row["task"]][row["committed"]] += sum(loads.get("load", []))
    loads = shown(PANEL, joined)["loads"]
    assert loads["tasks"] == [[each[at] for at in loads["at"]] for each in by_time]
    assert any(not each for _, each in loads_of(joined)), "some batch has found nothing: the table has a share there"


def test_a_range_has_its_pairs_alone(joined):
    times = shown(PANEL, joined)["loads"]["at"]
    low, high = times[2], times[-3]
    answer = shown(PANEL, joined, **{"from": low, "to": high})
    mine = sum(sum(loads.get("load", [])) for row, loads in loads_of(joined) if low < row["committed"] <= high)
    assert sum(each["load"] for each in answer["cells"]) == mine > 0
    assert answer["loads"]["at"] == times[3:-2]


@pytest.mark.parametrize(
    ("section", "tasks", "note"),
    [
        (near(), 1, "it has one task, which measures no load by cell"),
        (near(method="native", grid=None, extent=None), 2, "its tuples are not spread by cells"),
    ],
)
def test_where_no_cell_is_measured_it_says_so(tmp_path, section, tasks, note):
    write_streams(tmp_path, 60)
    query = join(tmp_path, section, tasks)
    Driver(query, tmp_path / "wh").run(flush=True)
    answer = shown(PANEL, view_of(tmp_path / "wh", query))
    assert answer["note"].startswith(note)
    assert not answer["cells"]


def test_the_versions_of_the_dimension_table_stand_with_their_rows_and_times(tmp_path):
    write_stream(tmp_path / "in")
    write_table(tmp_path / "zones.geojson", 0)
    start(tmp_path, tmp_path / "wh", run)
    view = view_of(tmp_path / "wh", make_query(tmp_path))
    answer = shown(PANEL, view)
    segments = {row["ordinal"]: row["before_end"] for row in view.tables.read("segments").to_pylist()}
    facts = sorted(
        view.tables.read("facts", ["about", "version", "from_segment"]).to_pylist(), key=lambda row: row["version"]
    )
    since = [row["from_segment"] for row in facts if row["about"] == "table"]
    versions = answer["table"]["versions"]
    assert [(each["version"], each["from_segment"]) for each in versions] == list(enumerate(since, 1))
    assert [each["rows"] for each in versions] == [len(VERSIONS[0]), len(VERSIONS[1])]
    assert [each["at"] for each in versions] == [None, segments[since[1]]]
    assert answer["table"]["path"] == str(tmp_path / "zones.geojson")
    assert (answer["join"], answer["cells"], answer["loads"], answer["note"]) == ("table", None, None, None)


def test_before_the_first_batch_nothing_is_known(tmp_path):
    write_streams(tmp_path, 24)
    answer = shown(PANEL, view_of(tmp_path / "wh", join(tmp_path, near())))
    assert (answer["cells"], answer["note"]) == ([], "the stream has committed nothing yet")
    table = shown(PANEL, view_of(tmp_path / "wh", make_query(tmp_path)))
    assert table["table"]["versions"] == []
    assert table["note"] == "the stream has read no version of its table yet"
