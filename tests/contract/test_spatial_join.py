"""What `spatial_join` of two streams promises: the pairs of brute force, however it is run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
import shapely
from hypothesis import Phase, given
from hypothesis import strategies as st
from pyproj import Geod

from kit.oracles.pair_oracle import LEFT, RIGHT, InWindow, Item, Join, Pair, in_windows, joined
from kit.runs.pair_runs import (
    CARRIED,
    FOREVER,
    JOINS,
    SIDES,
    WHERE,
    Batch,
    Sample,
    assert_as_the_oracle,
    late_of,
    log_of,
    logs,
    note_of,
    run,
)
from kit.suite.examples import drawn
from tailrace.kind.protocol import Kind
from tailrace.kinds import build
from tailrace.query.declared import declared_query

SOME = drawn(25, phases=[Phase.generate])
GEOD = Geod(ellps="WGS84")
NEAR_M = 1000.0

EXTENT = [0.0, 0.0, 4.0, 4.0]
SHAPES = (
    "POLYGON ((0 0, 2 0, 2 2, 0 2, 0 0), (0.5 0.5, 1 0.5, 1 1, 0.5 1, 0.5 0.5))",
    "POLYGON ((1 1, 3 1, 3 3, 1 3, 1 1))",
    "LINESTRING (1.5 1.5, 3.5 2.5)",
    "POINT (1 1)",
    "MULTIPOINT ((0.7 0.7), (9 9))",
    "POLYGON ((-90 -80, 90 -80, 90 80, -90 80, -90 -80))",
    "POINT EMPTY",
)
POINTS = (
    "POINT (1 1)",
    "POINT (1.005 1.003)",
    "POINT (1.995 1.0)",
    "POINT (2.001 1.0)",
    "POINT (179.999 1)",
    "POINT (-179.998 1)",
    "POINT (7 89.999)",
)
RELATIONS = ("intersects", "within", "contains", "covers", "touches", "equals", "overlaps", "crosses", "covered_by")
INTERVALS = st.sampled_from([(-60, 60), (0, 0), (-10, 60), (5, 30), (-40, -3)])
WINDOWS = st.sampled_from([(60, 60), (60, 20), (50, 30), (10, 10), (1, 1)])
GRIDS = [{"grid": n, "extent": EXTENT} for n in (1, 4, 16)] + [{}]


def holds(relation: str, left: str, right: str) -> bool:
    """The condition, of one pair of texts."""
    a, b = shapely.from_wkt(left), shapely.from_wkt(right)
    if relation == "dwithin":
        return GEOD.inv(a.x, a.y, b.x, b.y)[2] <= NEAR_M
    return not (a.is_empty or b.is_empty) and bool(getattr(a, relation)(b))


def make_kind(section: dict) -> Callable[[Join, int], Kind]:
    def make(join: Join, feedback: int) -> Kind:
        stream = {"source": {"format": "parquet", "path": "x"}, "event_time": "event_time", "id": "id"}
        geometry = {side: {"wkt": "value"} for side in SIDES}
        if join.windows is None:
            lower, upper = join.interval
            when = {"join": "interval", "interval": {"lower": f"{lower} ms", "upper": f"{upper} ms"}}
            window = {}
        else:
            size, slide = join.windows
            when, window = {"join": "window"}, {"window": {"size": f"{size} ms", "slide": f"{slide} ms"}}
        return build(
            declared_query(
                {
                    "name": "meet",
                    "kind": "spatial_join",
                    "streams": dict.fromkeys(SIDES, stream | {"arrival_time": "arrival_time"}),
                    "spatial_join": {"geometry": geometry} | when | section,
                }
                | window
            ),
            CARRIED,
        )

    return make


def plan_of(number: int, tasks: int) -> dict:
    return {"bounds": sorted(np.random.default_rng(number).uniform(-1, 16, tasks - 1).tolist())}


class Case(NamedTuple):
    """What is run, and what its kind is made of."""

    batches: list[Batch]
    join: Join
    tasks: int
    sample: Sample
    texts: dict[str, str]

    def run(self) -> tuple[dict[str, list[dict]], Join]:
        return run(self.batches, self.join, self.tasks, FOREVER, self.sample)

    @property
    def tuples(self) -> list[Item]:
        return [item for batch in self.batches for _, items in batch.segments for item in items]


@st.composite
def cases(draw: st.DrawFn, more: dict) -> Case:
    batches = draw(logs())
    relation = draw(st.sampled_from([*RELATIONS, *["dwithin"] * 5, "disjoint"]))
    near = relation == "dwithin"
    texts = dict(zip("ab", draw(st.permutations(POINTS if near else SHAPES)), strict=False))
    section = more | {"relation": relation} | ({"distance": "1 km"} if near else {})
    section |= {"select": ["right.note", *(["distance"] if near else []), "left.note"]}
    if relation == "disjoint":
        section = {name: value for name, value in section.items() if name not in ("grid", "extent")}
    if relation == "disjoint" or more.get("method") == "native":
        batches = [batch._replace(plan=None) for batch in batches]
    where = draw(st.sampled_from(list(WHERE)))
    section |= {} if where is None else {"where": where}
    join = replace(draw(JOINS), alike=lambda a, b: holds(relation, texts[a], texts[b]), keeps=WHERE[where])
    sample = Sample(make_kind(section), texts.__getitem__, plan_of)
    return Case(batches, join, draw(st.integers(1, 4)), sample, texts)


def assert_as_brute_force(case: Case) -> list[dict]:
    """Run the case, and assert that its pairs and late tuples are those of the oracle; returns the answers."""
    rows, join = case.run()
    answers = rows.get("results", [])
    assert_selected(case, answers)
    if join.windows is None:
        assert_as_the_oracle(rows, joined(log_of(case.batches), join), len(case.tuples))
        return answers
    expected, late = in_windows(log_of(case.batches), join)
    found = {
        InWindow(row["left_id"], row["right_id"], row["window_end"]): Pair(*(row[name] for name in Pair._fields))
        for row in answers
    }
    assert len(found) == len(answers), "a pair was answered twice in a window"
    assert found == expected
    assert join.deduplicate or late_of(rows) == late
    assert all(row["window_end"] - row["window_start"] == join.windows[0] for row in answers)
    assert sum(row["rows"] for row in rows["metrics"]) == len(case.tuples)
    return answers


def assert_selected(case: Case, answers: list[dict]) -> None:
    """Assert that answers have the columns of their tuples that are selected, of which some are null."""
    notes: dict[tuple, set] = {}
    for item in case.tuples:
        notes.setdefault((item.id, item.event_time), set()).add(note_of(item))
    for row in answers:
        for side in SIDES if "left_note" in row else ():
            assert row[f"{side}_note"] in notes[row[f"{side}_id"], row[f"{side}_time"]]


@pytest.mark.parametrize("more", [*GRIDS, {"grid": 4, "extent": EXTENT, "bin": "20 ms"}, {"method": "native"}], ids=str)
@SOME
@given(data=st.data())
def test_the_pairs_of_an_interval_are_those_of_brute_force(more: dict, data: st.DataObject) -> None:
    case, interval = data.draw(cases(more)), data.draw(INTERVALS)
    case = case._replace(join=replace(case.join, reach=max(map(abs, interval)), interval=interval))
    answers = assert_as_brute_force(case)
    shape_of = {item.id: shapely.from_wkt(case.texts[item.value]) for item in case.tuples}
    for row in answers:
        if "distance" in row:
            a, b = shape_of[row["left_id"]], shape_of[row["right_id"]]
            assert row["distance"] == pytest.approx(GEOD.inv(a.x, a.y, b.x, b.y)[2], abs=1e-6)


@pytest.mark.parametrize("more", [*GRIDS, {"method": "native"}], ids=str)
@SOME
@given(data=st.data())
def test_the_pairs_of_each_window_are_those_of_brute_force(more: dict, data: st.DataObject) -> None:
    case, windows = data.draw(cases(more)), data.draw(WINDOWS)
    assert_as_brute_force(case._replace(join=replace(case.join, windows=windows, reach=windows[0])))


@SOME
@given(data=st.data(), ids=st.integers(1, 6))
def test_repeats_are_dropped_while_a_window_of_their_id_is_open(data: st.DataObject, ids: int) -> None:
    def again(side: int, items: tuple[Item, ...]) -> tuple[int, tuple[Item, ...]]:
        return side, tuple(item._replace(id=f"{'lr'[side]}{int(item.id[1:]) % ids}") for item in items)

    case, windows = data.draw(cases({"grid": 4, "extent": EXTENT})), data.draw(WINDOWS)
    batches = [batch._replace(segments=tuple(again(*segment) for segment in batch.segments)) for batch in case.batches]
    join = replace(case.join, windows=windows, reach=windows[0], deduplicate=True)
    assert_as_brute_force(case._replace(join=join, batches=batches))


SECTION = {"grid": 4, "extent": EXTENT, "relation": "equals", "select": ["left.note", "right.note"]}
AT_ONE_PLACE = Sample(make_kind(SECTION), lambda value: "POINT (1 1)", lambda number, tasks: {"bounds": [number / 100]})
IN_TWO_WAYS = pytest.mark.parametrize("windows", [None, (60, 20)])


def item(side: int, event: int, arrival: int, name: str) -> tuple[int, tuple[Item, ...]]:
    return side, (Item(10**12 + event, 10**12 + arrival, f"{'lr'[side]}{name}", "a"),)


def both(*times: int) -> tuple[tuple[int, tuple[Item, ...]], ...]:
    """Tuples of both sides that arrive when they happen."""
    return tuple(item(side, time, time, str(time)) for time in times for side in (LEFT, RIGHT))


def of_one_place(batches: list[Batch], **join: object) -> Case:
    return Case(batches, Join(tick=1, k=0, alike=lambda a, b: True, **join), 2, AT_ONE_PLACE, {})


@IN_TWO_WAYS
def test_an_expired_row_whose_plan_is_forgotten_is_no_partner(windows: tuple[int, int] | None) -> None:
    """It lies in a chunk with rows that live; a tuple that is very late would match it."""
    batches = [
        Batch(both(0)),
        Batch(both(1), plan=100),
        Batch(both(2), plan=200),
        Batch(both(*range(10, 30))),
        Batch(both(66)),
        Batch(both(83)),
        Batch((item(LEFT, 5, 84, "late"), item(LEFT, 25, 84, "later"), *both(84, 85))),
        Batch(both(110)),
    ]
    interval = None if windows else (-60, 60)
    answers = assert_as_brute_force(of_one_place(batches, reach=60, interval=interval, windows=windows))
    assert {row["left_note"] is None for row in answers} == {True, False}


def test_a_plan_is_remembered_while_a_row_that_it_placed_waits_for_its_tick() -> None:
    """The left stream pauses for longer than `idle`; then its old tuple still meets a right one of its tick."""

    def right(*times: int) -> tuple[tuple[int, tuple[Item, ...]], ...]:
        return tuple(item(RIGHT, time, time, str(time)) for time in times)

    batches = [
        Batch(both(0)),
        Batch((item(LEFT, 75, 100, "waits"), *right(1))),
        Batch(right(2), plan=100),
        Batch(right(3), plan=200),
        Batch(right(*range(4, 96))),
        Batch(right(96, 97, 98)),
        Batch((item(RIGHT, 75, 100, "meets"), *right(120))),
        Batch((item(LEFT, 121, 121, "121"), *right(122))),
    ]
    answers = assert_as_brute_force(of_one_place(batches, reach=10, interval=(-10, 10), idle=30))
    assert ("lwaits", "rmeets") in {(row["left_id"], row["right_id"]) for row in answers}


@pytest.mark.parametrize("beside", ["POINT (300 300)", "POLYGON ((300 300, 301 300, 301 301, 300 300))"])
def test_points_are_measured_alike_whatever_stands_beside_them(beside: str) -> None:
    """GEOS finds them within 1.3, where the distance in doubles is one unit in the last place more."""
    texts = {"a": "POINT (8.9 2.4)", "b": "POINT (7.7 1.9)", "c": beside}
    section = {"crs": "planar", "relation": "dwithin", "distance": 1.3, "grid": 4, "extent": [0.0, 0.0, 9.0, 9.0]}
    sample = Sample(make_kind(section), texts.__getitem__)
    items = [Item(10**12, 10**12, "l0", "a"), Item(10**12, 10**12, "l1", "c")], [Item(10**12, 10**12, "r0", "b")]
    batch = Batch(tuple((side, tuple(mine)) for side, mine in enumerate(items)))
    join = Join(reach=10, tick=1, interval=(-10, 10), alike=lambda a, b: False)
    assert not assert_as_brute_force(Case([batch], join, 1, sample, texts))
