"""The districts that the package carries have the properties that districts/README.md states."""

from __future__ import annotations

import json
from itertools import combinations
from typing import Any

import numpy as np
import pytest
import shapely
from shapely.geometry import shape

from generators.sample_districts import CITIES, district_file

VALID = {"beijing": {"Xicheng", "Mentougou", "Tongzhou", "Changping"}, "shenzhen": set()}
COUNTS = {"beijing": (16, 9116, 35), "shenzhen": (8, 10036, 13)}
"""Districts, vertices, pairs of neighbours."""


def districts(city: str) -> dict[str, Any]:
    features = json.loads(district_file(city).read_text(encoding="utf-8"))["features"]
    assert all(feature["type"] == "Feature" for feature in features)
    return {feature["properties"]["pinyin"]: shape(feature["geometry"]) for feature in features}


def polygons(city: str) -> list[Any]:
    shapes = [shapely.make_valid(x, method="structure", keep_collapsed=False) for x in districts(city).values()]
    assert {x.geom_type for x in shapes} <= {"Polygon", "MultiPolygon"}
    return shapes


@pytest.mark.parametrize("city", CITIES)
def test_the_districts_are_as_they_were_published(city: str) -> None:
    shapes = districts(city)
    assert (len(shapes), sum(map(shapely.get_num_coordinates, shapes.values()))) == COUNTS[city][:2]
    assert {name for name, x in shapes.items() if x.is_valid} == VALID[city]
    units = np.concatenate([shapely.get_coordinates(x) for x in shapes.values()]) * 1024
    assert np.array_equal(units, np.rint(units))


def test_names_and_ids() -> None:
    features = json.loads(district_file("beijing").read_text(encoding="utf-8"))["features"]
    first = features[0]
    assert (first["id"], first["properties"]) == ("110101", {"name": "东城区", "pinyin": "Dongcheng"})
    assert len({feature["id"] for feature in features}) == len({feature["properties"]["name"] for feature in features})


@pytest.mark.parametrize(
    ("city", "place", "lon", "lat"),
    [
        ("beijing", "Dongcheng", 116.42, 39.92),
        ("beijing", "Chaoyang", 116.59, 40.07),  # the airport, its exclave
        ("beijing", "Yanqing", 116.0, 40.45),
        ("shenzhen", "Futian", 114.06, 22.54),
    ],
)
def test_places_are_in_their_districts(city: str, place: str, lon: float, lat: float) -> None:
    point = shapely.Point(lon, lat)
    names = [name for name, x in zip(districts(city), polygons(city), strict=True) if x.covers(point)]
    assert names == [place]


def test_neighbours_in_shenzhen_share_their_borders_exactly_and_in_beijing_some_overlap() -> None:
    for city, overlapping, holes in (("beijing", 24, 47), ("shenzhen", 0, 1)):
        shapes = polygons(city)
        pairs = [(a, b) for a, b in combinations(shapes, 2) if a.intersects(b)]
        assert len(pairs) == COUNTS[city][2]
        assert sum(a.intersection(b).area > 0 for a, b in pairs) == overlapping
        assert sum(len(x.interiors) for x in shapely.get_parts(shapely.union_all(shapes))) == holes


def test_the_files_are_small_and_no_others() -> None:
    directory = district_file("beijing").parent
    assert {path.name for path in directory.iterdir()} == {"README.md", *(f"{city}.geojson" for city in CITIES)}
    assert sum(path.stat().st_size for path in directory.iterdir()) < 600_000


def test_an_unknown_city_is_refused_with_the_right_names() -> None:
    with pytest.raises(ValueError, match="right is one of beijing, shenzhen"):
        district_file("paris")
