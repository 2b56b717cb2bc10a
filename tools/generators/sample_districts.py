"""Districts of two cities in this package; districts/README.md describes their origin."""

from __future__ import annotations

from pathlib import Path

CITIES = ("beijing", "shenzhen")
"""Names of the cities: 16 districts and 9,116 vertices; 8 districts and 10,036 vertices."""


def district_file(city: str) -> Path:
    """Return the GeoJSON file of a city's districts, most of which were published with invalid geometries.

    Each feature has a member `id` and the properties `name` and `pinyin`.
    """
    if city not in CITIES:
        raise ValueError(f"there are no districts of {city!r}; right is one of {', '.join(CITIES)}")
    return Path(__file__).with_name("districts") / f"{city}.geojson"
