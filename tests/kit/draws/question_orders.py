"""The orders of the page of questions: as a CSV file in order of arrival, and as DuckDB's table."""

from __future__ import annotations

import csv
import json
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa

BEGIN = datetime(2024, 3, 30, 20, 0, 0, 250_000)  # the next day is the first of summer time in Berlin
BERLIN, NEW_YORK = ZoneInfo("Europe/Berlin"), ZoneInfo("America/New_York")
COLUMNS = ["id", "ts", "came", "country", "planned", "user", "product", "amount", "price", "status", "code", "latency"]
COLUMNS += ["platform", "payload", "written", "due", "sent", "url", "mail", "is_new", "tags"]


def orders(number: int = 160, seed: int = 7) -> list[dict[str, Any]]:
    """Orders of some hours in order of arrival, some of them an hour late, with nulls in most columns."""
    draw = random.Random(seed)
    rows = []
    for each in range(number):
        at = BEGIN + timedelta(seconds=180 * each, microseconds=each)
        late = timedelta(hours=3) if draw.random() < 0.1 else timedelta(seconds=draw.randrange(60))
        cents, due = draw.randrange(100, 9_000), at.date() + timedelta(days=draw.randrange(3))
        row = {
            "id": f"o{each}",
            "ts": at,
            "came": at + late,
            "country": draw.choice(["DE", "AT", "FR", "FR", None]),
            "planned": draw.choice(["DE", "FR", None]),
            "user": draw.choice(["ann", "bob", "cy", None]),
            "product": draw.choice(["Shoes", "running shoe", "hat"]),
            "amount": cents / 100,
            "price": draw.choice([10.5, 11.0, 9.75, 12.25]) + each / 1000,
            "status": draw.choice(["paid", "paid", "open", "refund"]),
            "code": draw.choice([200, 200, 200, 404, 500, 503]),
            "latency": draw.randrange(5, 2_000) / 10,
            "platform": draw.choice(["phone", "web"]),
            "payload": json.dumps({"device": draw.choice(["a", "b", None]), "items": draw.randrange(1, 5)}),
            "written": f"{cents // 100 + 1000:,}".replace(",", ".") + f",{cents % 100:02}",
            "due": due.strftime(draw.choice(["%d.%m.%Y", "%-m/%-d/%Y", "%Y-%m-%d"])),
            "sent": None if draw.random() < 0.2 else at + timedelta(minutes=draw.randrange(1, 600)),
            "url": f"https://shop.example/?a=1{draw.choice(['&source=mail', '&source=ad', ''])}",
            "mail": f"{draw.choice('xyz')}@{draw.choice(['Mail.example', 'post.example'])}",
            "is_new": draw.choice([True, False, None]),
            "tags": draw.choice(["gift", "gift,red", "red,blue,gift", "blue"]),
        }
        rows.append(row)
    return sorted(rows, key=lambda row: row["came"])


def write(rows: list[dict[str, Any]], file: Path) -> None:
    with file.open("w", newline="") as opened:
        writer = csv.DictWriter(opened, COLUMNS)
        writer.writeheader()
        writer.writerows({name: _text(row[name]) for name in COLUMNS} for row in rows)


def _text(value: Any) -> str:
    if isinstance(value, datetime):
        return f"{value.isoformat(timespec='microseconds')}Z"
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def table(rows: list[dict[str, Any]]) -> pa.Table:
    """The orders with what DuckDB can't compute without its library of zones: clocks and days in two of them."""
    columns = {name: [row[name] for row in rows] for name in COLUMNS}
    local = [row["ts"].replace(tzinfo=UTC) for row in rows]
    days = [each.astimezone(BERLIN).replace(hour=0, minute=0, second=0, microsecond=0) for each in local]
    columns["berlin_day"] = [each.astimezone(UTC).replace(tzinfo=None) for each in days]
    columns["new_york"] = [each.astimezone(NEW_YORK).replace(tzinfo=None) for each in local]
    columns["cents"] = [round(row["amount"] * 100) for row in rows]
    columns["net_cents"] = [(2 * 100 * cents + 119) // (2 * 119) for cents in columns["cents"]]
    return pa.table(columns)
