"""Poisoned geometries and histograms in a stream: each goes to quarantine with its reason, and the rest is answered."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import shapely

from kit.runs.local_driver import Driver
from tailrace.query.declared import declared_query
from tailrace.storage.results import read_answers

EPOCH = 1_799_999_000_000
STEP_MS, REACH_MS, GOOD = 100, 500, 60
SIDES = ("left", "right")

UNREAD, INVALID = "g is no geometry that could be read", "g is not valid: "
OTHER_SRID = "g has an SRID other than 4326"
INFINITE, FAR = "a coordinate of g is NaN or infinite", "g is not in degrees"
_CIRCLE = (number / 50_000 * math.pi for number in range(100_000))
HUGE = f"POLYGON (({', '.join(f'{math.cos(angle)} {math.sin(angle)}' for angle in _CIRCLE)}, 1 0))"
WKT: dict[str, tuple[object, str | None]] = {
    "nothing": (None, "g is null"),
    "an empty text": ("", UNREAD),
    "a word": ("here", UNREAD),
    "no brackets": ("POINT 1 2", UNREAD),
    "cut in half": ("POLYGON ((0 0, 1 0, 1", UNREAD),
    "more behind it": ("POINT (1 2) POINT (1 2)", UNREAD),
    "three coordinates as one": ("POINT (1,2)", UNREAD),
    "a point without coordinates": ("POINT ()", UNREAD),
    "a type that there is not": ("CIRCLE (0 0, 1)", UNREAD),
    "a curve": ("CIRCULARSTRING (0 0, 1 1, 2 0)", "g is of curves"),
    "a ring that is not closed": ("POLYGON ((0 0, 1 0, 1 1, 0 1))", UNREAD),
    "a ring of two points": ("POLYGON ((0 0, 1 0, 0 0))", f"{INVALID}too few points"),
    "a line of one point": ("LINESTRING (0 0)", UNREAD),
    "words for numbers": ("POINT (one two)", UNREAD),
    "GeoJSON as text": ('{"type": "Point", "coordinates": [0, 0]}', UNREAD),
    "a number": (5, "g is of the wrong type: int"),
    "GeoJSON": ({"type": "Point", "coordinates": [0, 0]}, "g is of the wrong type: dict"),
    "NaN": ("POINT (nan 0)", INFINITE),
    "infinity": ("LINESTRING (0 0, inf 1)", INFINITE),
    "beyond doubles": ("POINT (1e400 0)", INFINITE),
    "NaN in a collection": ("GEOMETRYCOLLECTION (POINT (0 0), POINT (0 nan))", INFINITE),
    "metres": ("POINT (445000 4400000)", FAR),
    "beyond the antimeridian": ("POLYGON ((179 0, 181 0, 181 1, 179 0))", FAR),
    "beyond the pole": ("POINT (0 90.000001)", FAR),
    "a bow tie": ("POLYGON ((0 0, 1 1, 1 0, 0 1, 0 0))", f"{INVALID}self-intersection"),
    "an area of nothing": ("POLYGON ((0 0, 1 0, 2 0, 0 0))", f"{INVALID}self-intersection"),
    "a ring of one place": ("POLYGON ((0 0, 0 0, 0 0, 0 0))", f"{INVALID}too few points"),
    "a hole outside": ("POLYGON ((0 0, 2 0, 2 2, 0 0), (5 5, 6 5, 6 6, 5 5))", f"{INVALID}hole lies outside"),
    "a hole as large as its shell": ("POLYGON ((0 0, 2 0, 2 2, 0 0), (0 0, 2 0, 2 2, 0 0))", INVALID),
    "nested shells": ("MULTIPOLYGON (((0 0, 9 0, 9 9, 0 0)), ((2 1, 3 1, 3 2, 2 1)))", f"{INVALID}nested shells"),
    "a line of one place": ("LINESTRING (0 0, 0 0)", f"{INVALID}too few points"),
    "an empty point": ("POINT EMPTY", None),
    "an empty collection": ("GEOMETRYCOLLECTION EMPTY", None),
    "a third coordinate": ("POINT Z (0 0 7)", None),
    "a third and a fourth one": ("LINESTRING ZM (0 0 7 8, 1 1 7 8)", None),
    "a place twice": ("LINESTRING (0 0, 0 0, 1 1)", None),
    "a collection of many kinds": ("GEOMETRYCOLLECTION (POINT (5 5), LINESTRING (0 0, 1 1), POLYGON EMPTY)", None),
    "100 collections in one another": ("GEOMETRYCOLLECTION (" * 100 + "POINT (1 1)" + ")" * 100, None),
    "100,000 corners": (HUGE, None),
    "the corner of the world": ("POINT (-180 90)", None),
}


def wkb(type_: int, *numbers: float, order: int = 1, count: int | None = None) -> bytes:
    """The WKB of a geometry by its type's number; `count` stands before its coordinates."""
    counted = b"" if count is None else struct.pack("<I", count)
    return bytes([order]) + struct.pack("<I", type_) + counted + struct.pack(f"<{len(numbers)}d", *numbers)


WKB: dict[str, tuple[object, str | None]] = {
    "nothing": (None, "g is null"),
    "no byte": (b"", UNREAD),
    "one byte": (b"\x01", UNREAD),
    "cut in half": (wkb(1, 0, 0)[:-3], UNREAD),
    "a type that there is not": (wkb(99, 0, 0), UNREAD),
    "a line of 4,000,000,000 points": (wkb(2, 0, 0, 1, 1, count=4_000_000_000), UNREAD),
    "a polygon of 4,000,000,000 rings": (wkb(3, 0, 0, count=4_000_000_000), UNREAD),
    "a collection of 4,000,000,000": (wkb(7, count=4_000_000_000), UNREAD),
    "WKT": (b"POINT (0 0)", UNREAD),
    "NaN": (wkb(1, math.nan, 0), INFINITE),
    "infinity": (wkb(2, 0, 0, math.inf, 0, count=2), INFINITE),
    "metres of another reference system": (wkb(0x20000001, 445000, 4400000, count=3857), OTHER_SRID),
    "metres without a reference system": (wkb(1, 445000, 4400000), FAR),
    "an empty line": (wkb(2, count=0), None),
    "an unknown byte order": (wkb(1, 0, 0, order=7), None),
    "hexadecimal digits": (wkb(1, 0, 0).hex().encode(), None),
    "bytes behind it": (wkb(1, 0, 0) + b"more", None),
}


INTERVAL = {"lower": f"-{REACH_MS} ms", "upper": f"{REACH_MS} ms"}
LENGTH, NUMBERS = "the histogram has not 4 bins", "g holds what is no number"
BELOW, BAD = "a bin of the histogram is negative", "a bin of the histogram is null"
HISTOGRAMS: dict[str, tuple[object, str | None]] = {
    "nothing": (None, "g is null"),
    "no bin": ([], LENGTH),
    "a bin too few": ([1, 2, 3], LENGTH),
    "a bin too many": ([1, 2, 3, 4, 5], LENGTH),
    "a million bins": ([1] * 1_000_000, LENGTH),
    "no mass": ([0, 0, 0, 0], "the histogram has no mass"),
    "less than nothing": ([1, -1, 2, 2], BELOW),
    "hardly less than nothing": ([1, -5e-324, 2, 2], BELOW),
    "null in a bin": ([1, None, 2, 2], BAD),
    "only nulls": ([None] * 4, BAD),
    "NaN": ([1, math.nan, 2, 2], BAD),
    "infinity": ([1, math.inf, 2, 2], BAD),
    "both infinities": ([math.inf, -math.inf, 2, 2], BAD),
    "more than doubles can add up": ([1.7e308, 1.7e308, 0, 0], "the mass of the histogram is more than"),
    "a number": (7, "g is of the wrong type: int"),
    "a text": ("[1, 2, 3, 4]", "g is of the wrong type: str"),
    "an object": ({"0": 1, "1": 2, "2": 3, "3": 4}, "g is of the wrong type: dict"),
    "texts in bins": (["1", "2", "3", "4"], NUMBERS),
    "true in a bin": ([1, True, 2, 2], NUMBERS),
    "lists in bins": ([[1], [2], [3], [4]], NUMBERS),
    "whole numbers": ([0, 2, 2, 0], None),
    "minus zero": ([-0.0, 2, 2, 0], None),
    "a mass beyond whole numbers": ([0, 2e300, 2e300, 0], None),
    "hardly a mass": ([0, 5e-324, 5e-324, 0], None),
}


def write(file: Path, format_name: str, values: list[object]) -> None:
    """Write a stream of a value each 100 ms; a record's id is its place."""
    file.parent.mkdir(parents=True)
    times = [EPOCH + STEP_MS * place for place in range(len(values))]
    ids = [f"{place}" for place in range(len(values))]
    if format_name == "parquet":
        stamps = pa.array(times, pa.timestamp("ms", "UTC"))
        pq.write_table(pa.table({"t": stamps, "id": ids, "g": pa.array(values, pa.binary())}), file)
        return
    rows = ({"t": time, "id": name, "g": value} for time, name, value in zip(times, ids, values, strict=True))
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))


def run(directory: Path, format_name: str, section: dict[str, object], left: list[object], right: list[object]):
    for side, values in zip(SIDES, (left, right), strict=True):
        write(directory / side / f"0.{format_name}", format_name, values)
    columns = {"event_time": "t", "arrival_time": "t", "id": "id"}
    streams = {side: {"source": {"format": format_name, "path": side}} | columns for side in SIDES}
    declared = {"name": "pairs", "streams": streams, "disorder": {"policy": "none", "tick": "100 ms"}}
    app = Driver(declared_query(declared | section, directory), directory / "wh")
    app.run(flush=True)
    return app


def check(
    directory: Path,
    format_name: str,
    section: dict[str, object],
    wrong: dict[str, tuple[object, str | None]],
    good: list[object],
    fit: Callable[[object, object], bool],
) -> None:
    """Mix wrong values among good ones of the left stream; what is accepted is answered as `fit` says, all else not."""
    left = list(good)
    for number, (value, _) in enumerate(wrong.values()):
        left.insert(2 * number + 1, value)
    right = [good[place % len(good)] for place in range(len(left))]
    app = run(directory, format_name, section, left, right)

    rows = app.tables.read("quarantine").to_pylist()
    reasons = {int(row["position"].rpartition("#")[2]): row["reason"] for row in rows}
    assert len(reasons) == len(rows)
    assert all("left" in row["position"] for row in rows)
    told = {name: reasons.pop(2 * number + 1, None) for number, name in enumerate(wrong)}
    assert reasons == {}
    expected_reasons = {name: (reason or "accepted") for name, (_, reason) in wrong.items()}
    unlike = {name: text for name, text in told.items() if not (text or "accepted").startswith(expected_reasons[name])}
    assert unlike == {}

    bad = {2 * number + 1 for number, reason in enumerate(told.values()) if reason is not None}
    near = REACH_MS // STEP_MS
    expected = [
        (f"{one}", f"{other}")
        for one, other in product(range(len(left)), range(len(right)))
        if one not in bad and abs(one - other) <= near and fit(left[one], right[other])
    ]
    table, _ = read_answers(app.query, app.layout.home.parent, streamed=False)
    pairs = zip(table["left_id"].to_pylist(), table["right_id"].to_pylist(), strict=True)
    assert sorted(pairs) == sorted(expected)
    assert len(expected) > len(good)


def spatial(part: str) -> dict[str, object]:
    geometry = {side: {part: "g"} for side in SIDES}
    section = {"join": "interval", "interval": INTERVAL, "relation": "intersects", "geometry": geometry}
    return {"kind": "spatial_join", "spatial_join": section}


def test_poisoned_wkt_is_quarantined_and_the_rest_answered(tmp_path: Path) -> None:
    good = [f"POLYGON ((0 0, {size} 0, {size} {size}, 0 0))" for size in range(1, GOOD + 1)]
    shapes: dict[object, object] = {}

    def intersect(left: object, right: object) -> bool:
        one, other = (shapes.setdefault(text, shapely.from_wkt(text)) for text in (left, right))
        return bool(shapely.intersects(one, other))

    check(tmp_path, "json", spatial("wkt"), WKT, good, intersect)


def test_poisoned_wkb_is_quarantined_and_the_rest_answered(tmp_path: Path) -> None:
    good = [shapely.to_wkb(shapely.box(0, 0, size, size)) for size in range(1, GOOD + 1)]

    def intersect(left: object, right: object) -> bool:
        return bool(shapely.intersects(shapely.from_wkb(left), shapely.from_wkb(right)))

    check(tmp_path, "parquet", spatial("wkb"), WKB, good, intersect)


def test_poisoned_histograms_are_quarantined_and_the_rest_answered(tmp_path: Path) -> None:
    section = {"threshold": 0.5, "histogram": "g", "ground_distance": "line", "scale": 1.0, "bins": 4}
    declared = {"kind": "emd_join", "window": {"size": f"{REACH_MS} ms"}, "emd_join": section}
    good = [[float(number % 5), 1.0, 2.0, float(number % 3)] for number in range(GOOD)]

    def near(left: object, right: object) -> bool:
        one, other = ([Fraction(mass) / sum(map(Fraction, masses)) for mass in masses] for masses in (left, right))
        surplus = [sum(one[: bins + 1]) - sum(other[: bins + 1]) for bins in range(4)]
        return sum(map(abs, surplus)) <= Fraction(1, 2) + Fraction(1, 10**9)

    check(tmp_path, "json", declared, HISTOGRAMS, good, near)
