"""Rows of edge values, and expressions over them that call each function that expressions may call."""

from __future__ import annotations

from decimal import Context, Decimal
from math import inf, nan
from pathlib import Path
from random import Random

import pyarrow as pa

from tailrace.expressions.errors import ExpressionError
from tailrace.expressions.expression import parse

I32, I64 = 2**31, 2**63
D18 = [
    Decimal(text)
    for text in ("0.00", "1.00", "-1.00", "9999999999999999.99", "-9999999999999999.99", "0.01", "2.50", "-0.05")
]
D5 = [Decimal(text) for text in ("3.00", "0.00", "-7.30", "999.99", "0.01", "-999.99", "0.07", "1.50")]
DOUBLES = [
    0.0,
    -0.0,
    nan,
    inf,
    -inf,
    1.005,
    -2.5,
    1e300,
    5e-324,
    9.223372036854775e18,
    2.0**63,
    2.675,
    0.1,
    -1e19,
    123456.789,
]
TEXTS = [
    *(
        "",
        " ",
        "abc",
        "Straße ÄİΣ",
        "a" * 300,
        "a,b,,c",
        "12",
        " 12 ",
        "-7",
        "+5",
        "1.5",
        "1e3",
        "0x1F",
        "1_0",
        "12d",
        "Infinity",
    ),
    *(
        "nan",
        "true",
        "No",
        "y",
        "2024-02-29",
        "2023-02-29",
        "2024-2-9",
        "2024-02-29 23:59:59.1234567",
        "2024-03-31T02:30:00+02:00",
    ),
    *(
        "2024-10-27 02:30:00Z",
        "2024-01-01 25:00:00",
        "héllo wörld",
        "🙂x🙂",
        "a\nb",
        "abc\n",
        "x%_y",
        "aXbXc",
        "9223372036854775808",
    ),
    *(
        "\t12\n",
        "é",
        "0001-01-01",
        "9999-12-31 23:59:59.999999",
        "2024-01-01 1:2:3",
        "99.995",
        "-99.995",
        "12.",
        ".5",
        "-",
        "a\\b",
        "id=17;id=4",
    ),
    *("2024", "2024-02 ", "2024-", "+2024-2-9", "02024-02-03", "2024-02-03T10", "2024-02-03 10:00Z", "2024-02 x"),
    *("2024-01-01 24:00:00", "2024-01-01 10:00:00+2", "2024-01-01 10:00:00UTC-0230", "1e39", "16777217.0000000001"),
    *("2024-01-01x", "2024-01-01 10:00:00-08:00", "aaa bbb", "1969-12-31 23:59:59.999999", "'quoted'", "NaN", "-inf"),
]
JSONS = [
    *(
        '{"a": 1}',
        '{"a": {"b": [1, 2.5, "x"]}, "c": "t"}',
        '{"a": null}',
        "{}",
        "[]",
        "",
        " ",
        "x",
        "null",
        '{"a": "é\\u00e9\\n"}',
        '"text"',
        "5",
    ),
    *(
        '{"a": true}',
        '{"a": 1.0}',
        '{"a": 99999999999}',
        '{"a": 12345678901234567890}',
        '{"a": "1"}',
        '{"a": {"b": [3]}, "a2": 1}',
        '{"b": [{"c": 1}, {"c": 2}]}',
    ),
    *(
        '{"a": 1, "c": 5, "d": 1e3}',
        '{"d": "NaN"}',
        '{"d": 7}',
        '{"c": {"x":  1}}',
        '{"c": [1,  2]}',
        '{"a": 1',
        '{"a": 1} x',
        '[{"a": 1}]',
        '{"a b": 1}',
        '{"a": null, "a": {"b": 1, "b": 2}, "a": {"c": 3}}',
    ),
]
FORMATTED = [
    *("2024-02-29", "2023-02-29", "2024-2-9", "2024-02-29 ", " 2024-02-29", "2024-02-29x", "0001-01-01", "9999-12-31"),
    *("1969-12-31", "0000-01-01", "+12024-01-01", "-2024-01-01", "12024-01-01", "2024-13-01", "2024-00-10", "", "x"),
    *("24-02-29", "99-1-1", "5-1-2", "99999999999999999999-1-1", "2024-0000000000000000002-1", "٢٠٢٤-02-01"),
    *("20240229", "20230229", "2024022", "202402291", "20240229102030", "2024022910203", "20240229102030.123456789"),
    *(
        "29.Feb.2024",
        "29.FEBRUARY.2024",
        "1.mai.2024",
        "1.May.2024",
        "31.Apr.2024",
        "29/02/2024",
        "02/29/2024",
        "2/9/24",
    ),
    *("2024-02-29 10:20:30", "2024-02-29 24:00:00", "2024-02-29 23:60:00", "2024-02-29 23:59:60", "2024-02-29 1:2:3"),
    *("2024-02-29 10:20:30.1", "2024-02-29 10:20:30.123456789", "2024-02-29 10:20:30.", "2024-02-29 10:20"),
    *("2024-02-29 12:20 AM", "2024-02-29 12:20 pm", "2024-02-29 00:20 PM", "2024-02-29 13:20 PM", "2024-02-29 1:20 Pm"),
    *("2024-02-29T10:20:30Z", "2024-02-29t10:20:30z", "2024-02-29T10:20:30+01", "2024-02-29T10:20:30-0130"),
    *("2024-02-29T10:20:30+01:30", "2024-02-29T10:20:30+18:01", "2024-02-29T10:20:30+01:60", "2024-02-29T10:20:30+1"),
    *("0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00", "2024-02-29T10:20:30-00:00", "2024", "2024-02", "02"),
    *("10:20", "24:00", "23", "it's 2024", "2024\n02", "100% 2024"),
]
"""Texts for the patterns of times."""
DAYS = [
    "1970-01-01",
    "0001-01-01",
    "9999-12-31",
    "2024-02-29",
    "2023-12-31",
    "2024-03-31",
    "2020-12-28",
    "2021-01-03",
    "1969-12-31",
    "1582-10-15",
    "2024-01-31",
]
MICROS = [
    0,
    -1,
    1,
    1711846800000000,
    1711850400123456,
    1729990800000000,
    -62135596800000000,
    253402300799999999,
    951782399999999,
    -11644473600000001,
]


def _cycled(values, rows):
    return [values[row % (len(values) + 1)] if row % (len(values) + 1) < len(values) else None for row in range(rows)]


def _numbers():
    rows = 91  # each value meets many others: the lengths have no common divisor
    return pa.table(
        {
            "t": pa.array(_cycled([0, 1, -1, 127, -128], rows), pa.int8()),
            "i": pa.array(_cycled([0, 1, -1, I32 - 1, -I32, 7, -7, 100, 3], rows), pa.int32()),
            "l": pa.array(_cycled([0, 1, -1, I64 - 1, -I64, 10, 2**53 + 1, 1000003], rows), pa.int64()),
            "f": pa.array(_cycled([0.0, 0.1, -2.5, nan, inf], rows), pa.float32()),
            "x": pa.array(_cycled(DOUBLES, rows), pa.float64()),
            "y": pa.array(_cycled([2.0, 0.0, -3.7, nan, 0.5, 1e10], rows), pa.float64()),
            "d": pa.array(_cycled(D18, rows), pa.decimal128(18, 2)),
            "e": pa.array(_cycled(D5, rows), pa.decimal128(5, 2)),
            "w": pa.array(
                _cycled([Decimal("9" * 20 + "." + "9" * 18), Decimal("1.5"), Decimal("-0.000000000000000001")], rows),
                pa.decimal128(38, 18),
            ),
            "b": pa.array(_cycled([True, False], rows)),
        }
    )


def _times():
    rows = 37
    days = pa.array(_cycled(DAYS, rows)).cast(pa.date32())
    return pa.table(
        {
            "d": days,
            "e": pa.array(_cycled(DAYS[3:], rows)).cast(pa.date32()),
            "ts": pa.array(_cycled(MICROS, rows), pa.int64()).cast(pa.timestamp("us", "UTC")),
            "n": pa.array(_cycled([0, 1, -1, 13, 4000000, -I32, 30], rows), pa.int32()),
            "s": pa.array(_cycled(["2024-02-29", "2024-01-01 10:00:00", "x"], rows)),
            "u": pa.array(_cycled([0, -1, 253402300799, 1711846800, I64 - 1], rows), pa.int64()),
            "z": pa.array(_cycled(["Asia/Kathmandu", "+05:30", "nowhere", "UTC", "-18:00"], rows)),
        }
    )


def _texts():
    rows = len(TEXTS) + 1
    return pa.table(
        {
            "s": pa.array([*TEXTS, None]),
            "o": pa.array(_cycled(["a", "", "b", "X", "é", ","], rows)),
            "n": pa.array(_cycled([0, 1, 2, 3, -1, -2, 100, -100], rows), pa.int32()),
        }
    )


def _nested():
    structs = [{"a": 1, "b": {"c": "x"}}, {"a": None, "b": None}, None]
    rows = 2 * len(JSONS) + 1
    maps = [[("k", 1), ("m", None)], [], None]
    return pa.table(
        {
            "j": pa.array(_cycled(JSONS, rows)),
            "st": pa.array(
                _cycled(structs, rows), pa.struct([("a", pa.int64()), ("b", pa.struct([("c", pa.string())]))])
            ),
            "arr": pa.array(_cycled([[1.5, None], [], [2.0, 3.0, 4.0]], rows), pa.list_(pa.float64())),
            "m": pa.array(_cycled(maps, rows), pa.map_(pa.string(), pa.int32())),
            "n": pa.array(_cycled([0, 1, 2, -1], rows), pa.int32()),
        }
    )


def _generated():
    """Rows of random values of every size, for the expressions over numbers."""
    rng, rows = Random(33), 60

    def decimals(digits, scale):
        return [
            Decimal(rng.randrange(-(10 ** rng.randint(1, digits)) + 1, 10**digits)).scaleb(-scale) for _ in range(rows)
        ]

    doubles = [
        [
            rng.choice([rng.gauss(0, 1), rng.uniform(-1e4, 1e4), rng.gauss(0, 1) * 10 ** rng.randint(-9, 14)])
            for _ in range(rows)
        ]
        for _ in "xy"
    ]
    return pa.table(
        {
            "t": pa.array([rng.randrange(-128, 128) for _ in range(rows)], pa.int8()),
            "i": pa.array([rng.randrange(-(2 ** rng.randint(1, 31)), 2**31) for _ in range(rows)], pa.int32()),
            "l": pa.array([rng.randrange(-(2 ** rng.randint(1, 63)), 2**63) for _ in range(rows)], pa.int64()),
            "f": pa.array([rng.gauss(0, 100) for _ in range(rows)], pa.float32()),
            "x": pa.array([round(each, rng.randint(0, 6)) for each in doubles[0]]),
            "y": pa.array(doubles[1]),
            "d": pa.array(decimals(18, 2), pa.decimal128(18, 2)),
            "e": pa.array(decimals(5, 2), pa.decimal128(5, 2)),
            "w": pa.array(decimals(38, 18), pa.decimal128(38, 18)),
            "b": pa.array([rng.choice([True, False, None]) for _ in range(rows)]),
        }
    )


TABLES = {"numbers": pa.concat_tables([_numbers(), _generated()]), "texts": _texts(), "times": _times()}
TABLES |= {"nested": _nested(), "formats": pa.table({"s": pa.array([*FORMATTED, None])})}

EXPRESSIONS = {
    name: (Path(__file__).parents[2] / "data/expressions" / f"{name}.txt").read_text().splitlines() for name in TABLES
}
"""Expressions over each table, one a line of a file."""


def _long_decimals(seed, pairs=14, rows=24):
    """Pairs of decimals of any precision, and integers beside them; each operator over each pair."""
    rng, columns, texts = Random(seed), {}, []

    def column(name):
        precision = rng.choice([1, 9, 18, 19, 28, 37, 38])
        scale = rng.choice([0, min(2, precision), min(6, precision), rng.randint(0, precision), precision])
        most = 10**precision - 1
        units = [rng.choice([0, 1, -1, most, -most]) for _ in range(4)]
        units += [rng.randint(-(10 ** rng.randint(0, precision)), most) for _ in range(rows - 5)]
        values = [Decimal(max(unit, -most)).scaleb(-scale, Context(prec=80)) for unit in units]
        columns[name] = pa.array([*values, None], pa.decimal128(precision, scale))

    columns["l"] = pa.array(_cycled([1, -1, 0, 10, I64 - 1, -I64, 1000003], rows), pa.int64())
    columns["i"] = pa.array(_cycled([3, -7, 0, I32 - 1], rows), pa.int32())
    for pair in range(pairs):
        column(f"a{pair}")
        column(f"b{pair}")
        for sign in "+-*/%":
            texts += [f"a{pair} {sign} b{pair}", f"a{pair} {sign} {rng.choice('li')}", f"l {sign} b{pair}"]
    table = pa.table(columns)
    types = dict(zip(table.column_names, table.schema.types, strict=True))
    return table, [text for text in texts if _is_taken(text, types)]


def _is_taken(text, types):
    try:
        _ = parse(text).bind(types)
    except ExpressionError:
        return False
    return True


TABLES["decimals"], EXPRESSIONS["decimals"] = _long_decimals(33)
