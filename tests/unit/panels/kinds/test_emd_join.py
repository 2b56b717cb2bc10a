"""EMD joins as a panel: loads, boundaries and filters against the tables' rows by plain Python."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from itertools import count
from types import SimpleNamespace

import pytest

from kit.runs.joined_streams import join, similar, write_streams
from kit.runs.local_driver import Driver
from kit.runs.shown import shown, view_of
from kit.runs.warehouse import EPOCH
from tailrace.emd_join import exact, search_cost
from tailrace.panels.kind import PANEL
from tailrace.panels.kinds import emd_join as panel

GRID = {"ground_distance": {"grid": [2, 4]}, "bins": None}
CHAINS = {
    "line": (similar(), ["centroid", "coarse"]),
    "grid": (similar(**GRID), ["range", "triangle", "feasible", "flow", "independent"]),
    "head": (
        similar(method="head", span=None, feedback=None, distances=False, **GRID),
        ["normal", "dual", "centroid", "reference"],
    ),
}


@pytest.fixture(scope="module", params=CHAINS)
def joined(request, tmp_path_factory):
    """A join by each of the searches, and the names of its filters in order."""
    directory = tmp_path_factory.mktemp(request.param)
    write_streams(directory, 240)
    section, names = CHAINS[request.param]
    query = join(directory, section)
    ticks = count(step=1_000_000)  # plans follow from CPU time: here each look at the clock is 1 ms later
    with pytest.MonkeyPatch.context() as patch:
        for module in (search_cost, exact):
            patch.setattr(module, "time", SimpleNamespace(thread_time_ns=lambda: next(ticks)))
        Driver(query, directory / "wh").run(batch_rows=40, flush=True)
    return view_of(directory / "wh", query), names


def metrics_of(view):
    return view.tables.read("metrics").to_pylist()


@pytest.mark.needs("long")
def test_the_load_of_each_task_is_the_exact_distances_of_its_batches(joined):
    view, _ = joined
    loads = shown(PANEL, view)["loads"]
    by_time = [defaultdict(float) for _ in range(3)]
    for row in metrics_of(view):
        by_time[row["task"]][row["committed"]] += row["load"]
    assert loads["at"] == sorted(by_time[0])
    assert loads["tasks"] == [[each[at] for at in loads["at"]] for each in by_time]
    assert sum(map(sum, loads["tasks"])) > 0


def test_the_imbalance_is_that_of_the_worst_batch(joined):
    view, _ = joined
    batches, expected = defaultdict(list), defaultdict(list)
    for row in metrics_of(view):
        batches[row["committed"], row["batch"]].append(row["load"])
    for (at, _), loads in batches.items():
        if sum(loads):
            expected[at].append(max(loads) / (sum(loads) / len(loads)) - 1)
    shown_loads = shown(PANEL, view)["loads"]
    for at, imbalance in zip(shown_loads["at"], shown_loads["imbalance"], strict=True):
        assert imbalance == (pytest.approx(max(expected[at])) if at in expected else None)
    assert max(filter(None, shown_loads["imbalance"])) > 0.1


def test_the_filters_leave_the_pairs_that_are_computed_exactly(joined):
    view, names = joined
    answer, counts = shown(PANEL, view), Counter()
    for row in metrics_of(view):
        counts.update(dict(row["counts"] or ()))
    left = counts["candidates"]
    assert [each["name"] for each in answer["filters"]] == names
    for each in answer["filters"]:
        assert (each["pairs_in"], each["pairs_out"]) == (left, left - counts[each["name"]])
        left = each["pairs_out"]
    assert left == answer["exact"] == counts["exact"] > 0
    assert (answer["candidates"], answer["queries"]) == (counts["candidates"], counts["queries"])
    assert answer["pairs"] == view.tables.read("results").num_rows > 0


def plans_of(view):
    """The plans with the arrival of their first segment."""
    end_of = {row["ordinal"]: row["before_end"] for row in view.tables.read("segments").to_pylist()}
    plans = [row for row in view.tables.read("facts").to_pylist() if row["about"] == "plan"]
    return [(end_of[row["from_segment"]], row) for row in sorted(plans, key=lambda row: row["version"])]


def test_the_boundaries_are_those_of_the_plans_in_the_unit_of_the_key(joined):
    view, names = joined
    boundaries, plans = shown(PANEL, view)["boundaries"], plans_of(view)
    width = 0.25 if names[0] != "normal" else (1 + 9) ** 0.5 / 1024
    assert boundaries["at"] == [at for at, _ in plans]
    bounds = [json.loads(row["value"])["bounds"] for _, row in plans]
    cuts = (1, 2) if names[0] != "normal" else (1,)  # of head, between two columns of cells
    assert boundaries["cuts"] == [pytest.approx([each[cut] * width for each in bounds]) for cut in cuts]
    assert len(boundaries["hot"]) == len(plans) > 0


def test_a_range_has_its_batches_and_the_plan_in_force_at_its_beginning(joined):
    view, names = joined
    plans = plans_of(view)
    low, high = EPOCH + 2900, EPOCH + 3900
    answer = shown(PANEL, view, **{"from": low, "to": high})
    assert (answer["from"], answer["to"]) == (low, high)
    mine = [row for row in metrics_of(view) if low < row["committed"] <= high]
    assert answer["loads"]["at"] == sorted({row["committed"] for row in mine})
    before = [at for at, _ in plans if at <= low]
    assert answer["boundaries"]["at"] == before[-1:] + [at for at, _ in plans if low < at <= high]
    assert len(before) > 1 or names[0] == "normal"
    assert answer["candidates"] == sum(dict(row["counts"] or ()).get("candidates", 0) for row in mine)


def test_many_plans_are_thinned_out(joined, monkeypatch):
    view, names = joined
    monkeypatch.setattr(panel, "POINTS", 3)
    answer, plans = shown(PANEL, view), plans_of(view)
    if names[0] == "normal":  # its ranges are made once
        assert len(plans) == 1
        return
    at = answer["boundaries"]["at"]
    assert (at[0], at[-1], len(at)) == (plans[0][0], plans[-1][0], 3)
    assert answer["note"] == f"3 of the {len(plans)} partition plans are drawn"


def test_a_range_without_batches_says_so(joined):
    view, _ = joined
    answer = shown(PANEL, view, **{"from": EPOCH - 5000, "to": EPOCH - 4000})
    assert answer["note"] == "the stream has committed nothing in this range of arrival"
    assert (answer["loads"], answer["candidates"]) == ({"at": [], "tasks": [], "imbalance": []}, 0)


def test_before_the_first_batch_there_is_nothing(tmp_path):
    write_streams(tmp_path, 24)
    answer = shown(PANEL, view_of(tmp_path / "wh", join(tmp_path, similar())))
    assert answer["note"] == "the stream has committed nothing yet"
    assert [each["pairs_in"] for each in answer["filters"]] == [0, 0]
