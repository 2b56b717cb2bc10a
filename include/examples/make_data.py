"""Make the data of the examples, each time the same: small streams out of order, in every format.

Usage: python include/examples/make_data.py include/examples
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import shutil
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import write_deltalake

START = datetime(2026, 3, 2, 8, 0, tzinfo=UTC)
TIME = pa.timestamp("ms", tz="UTC")
FILES = 4
SLOW, DECLINED = 0.1, 0.1
"""The shares of records that are delayed by ten times as much, and of payments that are declined."""

REPEATED = 100
"""One record of so many comes twice."""

Row = dict[str, Any]
Fields = Callable[[random.Random], Row]


def out_of_order(
    seed: int, rows: int, span: timedelta, delay: timedelta, fields: Fields, repeats: bool = True
) -> list[Row]:
    """Return rows in the order of arrival.

    Each tenth is delayed by ten times as much as the others; with `repeats`, each hundredth comes twice.
    """
    draw = random.Random(seed)
    made: list[Row] = []
    for number in range(rows):
        at = START + timedelta(milliseconds=round(span / timedelta(milliseconds=1) * number / rows))
        mean = delay * (10 if draw.random() < SLOW else 1)
        came = at + timedelta(milliseconds=round(draw.expovariate(1) * (mean / timedelta(milliseconds=1))))
        row = {"id": number + 1, "made_at": at, "received_at": came} | fields(draw)
        made += [row] * (2 if repeats and number % REPEATED == REPEATED // 2 else 1)
    return sorted(made, key=lambda row: row["received_at"])


def in_files(rows: Sequence[Row]) -> Iterable[tuple[str, Sequence[Row]]]:
    """Yield the rows in files of nearly equal length, whose names are in the order of arrival."""
    for number in range(FILES):
        first, end = (len(rows) * cut // FILES for cut in (number, number + 1))
        yield f"part-{number}", rows[first:end]


def write_csv(directory: Path, rows: Sequence[Row], form: str = "%Y-%m-%dT%H:%M:%S.%fZ") -> None:
    directory.mkdir(parents=True)
    for name, part in in_files(rows):
        with (directory / f"{name}.csv").open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(part[0])
            writer.writerows(
                [value.strftime(form) if isinstance(value, datetime) else value for value in row.values()]
                for row in part
            )


def write_json(directory: Path, rows: Sequence[Row]) -> None:
    directory.mkdir(parents=True)
    for name, part in in_files(rows):
        texts = [json.dumps(row, default=lambda time: time.isoformat(timespec="milliseconds")) for row in part]
        (directory / f"{name}.json").write_text("\n".join(texts) + "\n")


def table_of(rows: Sequence[Row]) -> pa.Table:
    table = pa.Table.from_pylist(list(rows))
    for name in ("made_at", "received_at"):
        table = table.set_column(table.schema.get_field_index(name), name, table[name].cast(TIME))
    return table


def write_parquet(directory: Path, rows: Sequence[Row]) -> None:
    directory.mkdir(parents=True)
    for name, part in in_files(rows):
        pq.write_table(table_of(part), directory / f"{name}.parquet", compression="zstd")


def write_delta(directory: Path, rows: Sequence[Row]) -> None:
    for _, part in in_files(rows):
        write_deltalake(directory, table_of(part), mode="append")


def order(draw: random.Random) -> Row:
    return {"shop": draw.choice(("Berlin", "Hamburg", "Munich")), "amount": round(draw.lognormvariate(3, 1), 2)}


def payment(draw: random.Random) -> Row:
    status = "declined" if draw.random() < DECLINED else "paid"
    amount = f"{draw.lognormvariate(3, 1):.2f}"
    return {"country": draw.choice(("de", "fr", "pl")), "status": status, "amount": amount}


def trade(draw: random.Random) -> Row:
    return {"symbol": draw.choice(("ABC", "XYZ")), "amount": round(draw.lognormvariate(8, 1), 2)}


def reading(draw: random.Random) -> Row:
    return {"sensor": draw.choice(("boiler", "oven")), "celsius": round(draw.gauss(80, 12), 1)}


def click(draw: random.Random) -> Row:
    return {"page": draw.choice(("/", "/cart", "/pay")), "user": f"u{draw.randrange(40)}"}


def frame(draw: random.Random) -> Row:
    light = [draw.randrange(1, 20) for _ in range(4)]
    return {"light": [float(pixels) for pixels in light]}


def position(draw: random.Random) -> Row:
    return {"x": round(draw.uniform(0, 1000), 1), "y": round(draw.uniform(0, 1000), 1)}


def zones() -> Row:
    """Return four squares of the city as a collection of GeoJSON features."""
    features = []
    for name, x, y in (("north-west", 0, 500), ("north-east", 500, 500), ("south-west", 0, 0), ("south-east", 500, 0)):
        ring = [[x, y], [x + 400, y], [x + 400, y + 400], [x, y + 400], [x, y]]
        polygon = {"type": "Polygon", "coordinates": [ring]}
        features.append({"type": "Feature", "properties": {"zone": name}, "geometry": polygon})
    return {"type": "FeatureCollection", "features": features}


def make(examples: Path) -> None:
    """Write the data of all examples, in place of those that are there."""
    hours, minutes, seconds = (_unit(name) for name in ("hours", "minutes", "seconds"))
    streams: dict[str, tuple[Callable[[Path, Sequence[Row]], None], list[Row]]] = {
        "csv/data": (
            lambda path, rows: write_csv(path, rows, "%Y-%m-%d %H:%M:%S"),
            out_of_order(1, 400, hours(4), minutes(2), order),
        ),
        "json/data": (write_json, out_of_order(2, 400, hours(1), seconds(30), payment)),
        "parquet/data": (write_parquet, out_of_order(3, 400, minutes(30), seconds(20), trade)),
        "delta/data": (write_delta, out_of_order(4, 400, hours(1), seconds(30), reading)),
        "sql/data": (write_csv, out_of_order(5, 400, minutes(40), seconds(20), click)),
        "kafka/data": (write_json, out_of_order(6, 400, hours(1), seconds(30), payment)),
        "object_store/data": (write_parquet, out_of_order(7, 400, hours(1), seconds(30), reading)),
        "emd_join/data/left": (write_parquet, out_of_order(8, 120, minutes(1), seconds(1), frame)),
        "emd_join/data/right": (write_parquet, out_of_order(9, 120, minutes(1), seconds(1), frame)),
        "spatial_join/data/couriers": (write_csv, out_of_order(10, 200, minutes(20), seconds(10), position)),
        "spatial_join/data/parcels": (write_csv, out_of_order(11, 200, minutes(20), seconds(10), position)),
        "spatial_table/data": (write_csv, out_of_order(12, 200, minutes(20), seconds(10), position, repeats=False)),
    }
    for name, (write, rows) in streams.items():
        shutil.rmtree(examples / name, ignore_errors=True)
        write(examples / name, rows)
    (examples / "spatial_table" / "zones.geojson").write_text(json.dumps(zones(), indent=1) + "\n")


def _unit(name: str) -> Callable[[float], timedelta]:
    return lambda number: timedelta(**{name: number})


def main() -> None:
    """Make the data below a directory."""
    parser = argparse.ArgumentParser(description="Make the data of the examples.")
    parser.add_argument("directory", type=Path, help="include/examples")
    make(parser.parse_args().directory)


if __name__ == "__main__":
    main()
