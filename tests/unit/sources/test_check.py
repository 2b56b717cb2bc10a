"""`check`: the reasons for quarantine, and the conversion of the other records to tuples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from kit.parts.source_mappings import source_mapping, with_uses
from tailrace.kind.inputs import ColumnTypes
from tailrace.sources.check import Checked, check
from tailrace.sources.columns import SourceMapping

NOW = 1_577_836_800_000  # 2020-01-01T00:00:00Z
EARLIEST = 946_684_800_000  # 2000-01-01T00:00:00Z
DAY = 86_400_000
COLUMNS = source_mapping("happened", "came", "name", "sensor", {"value": "speed"}, earliest_ms=EARLIEST, ahead_ms=DAY)
LOWEST, HIGHEST = -(2**63), 2**63 - 1


def check_records(
    key_type: pa.DataType | None = None, columns: SourceMapping = COLUMNS, **replaced: pa.Array
) -> Checked:
    """Check good records with these columns replaced."""
    rows = len(next(iter(replaced.values()))) if replaced else 1
    good = {
        "happened": pa.array([NOW] * rows),
        "came": pa.array([NOW] * rows),
        "name": pa.array([f"n{i}" for i in range(rows)]),
        "sensor": pa.array(["s"] * rows),
        "speed": pa.array([1.0] * rows),
    }
    return check(pa.table(good | replaced), columns, np.arange(rows), ColumnTypes(key_type or pa.string()), NOW)


def reasons(**replaced: pa.Array) -> dict[int, str]:
    result = check_records(**replaced)
    return dict(zip(result.rejected.tolist(), result.reasons, strict=True))


def column(part: str, /, **replaced: pa.Array) -> list:
    return check_records(**replaced).tuples.column(part).to_pylist()


def test_a_good_record_becomes_a_tuple() -> None:
    tuples = check_records().tuples
    assert tuples.to_pylist() == [
        {"event_time": NOW, "arrival_time": NOW, "row": 0, "event_us": 0, "arrival_us": 0}
        | {"id": "n0", "key": "s", "value": 1.0}
    ]
    assert tuples.schema.types == [*[pa.int64()] * 5, pa.string(), pa.string(), pa.float64()]


EARLY = "happened out of bounds: before the earliest accepted"
AHEAD = "happened out of bounds: too far ahead of arrival"
CAME = "came out of bounds: an arrival time lies between 1970 and 9998"
LAST_ARRIVAL = 253_370_764_799_999  # the end of the year 9998


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("happened", pa.array([None], pa.int64()), "happened is null"),
        ("happened", pa.array(["yesterday"]), "happened is no time that could be read: ISO 8601, from 1678 to 2261"),
        ("happened", pa.array([""]), "happened is no time that could be read: ISO 8601, from 1678 to 2261"),
        ("happened", pa.array([None], pa.string()), "happened is null"),
        ("happened", pa.array([EARLIEST - 1]), EARLY),
        ("happened", pa.array([NOW + DAY + 1]), AHEAD),
        ("happened", pa.array([LOWEST]), EARLY),
        ("happened", pa.array([HIGHEST]), AHEAD),
        ("happened", pa.array([LOWEST], pa.timestamp("s")), EARLY),
        ("happened", pa.array([HIGHEST], pa.timestamp("s")), AHEAD),
        ("happened", pa.array([LOWEST], pa.timestamp("us")), EARLY),
        ("happened", pa.array([HIGHEST], pa.timestamp("us")), AHEAD),
        ("came", pa.array([None], pa.int64()), "came is null"),
        ("came", pa.array(["soon"]), "came is no time that could be read: ISO 8601, from 1678 to 2261"),
        ("came", pa.array([-1]), CAME),
        ("came", pa.array([LAST_ARRIVAL + 1]), CAME),
        ("came", pa.array([LOWEST]), CAME),
        ("came", pa.array([HIGHEST]), CAME),
        ("came", pa.array([HIGHEST], pa.timestamp("s")), CAME),
        ("name", pa.array([None], pa.string()), "name is null"),
        ("name", pa.array([None], pa.int64()), "name is null"),
        ("speed", pa.array([None], pa.float64()), "speed is null"),
        ("speed", pa.array([None], pa.int8()), "speed is null"),
        ("speed", pa.array([float("nan")]), "speed is NaN"),
        ("speed", pa.array([float("inf")]), "speed is infinite"),
        ("speed", pa.array([float("-inf")]), "speed is infinite"),
        ("speed", pa.array([float("nan")], pa.float32()), "speed is NaN"),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else value,
)
def test_a_malformed_record_goes_to_quarantine_with_its_reason(name: str, value: pa.Array, reason: str) -> None:
    assert reasons(**{name: value}) == {0: reason}


def test_a_null_key_is_a_value_or_goes_to_quarantine() -> None:
    sensor = pa.array([None, ""], pa.string())
    records = {"happened": [NOW] * 2, "came": [NOW] * 2, "name": ["x", "y"], "speed": [1.0, 2.0], "sensor": sensor}
    kept = check(pa.table(records), COLUMNS, np.arange(2), ColumnTypes(), None)
    assert kept.tuples.column("key").to_pylist() == [None, ""]
    checked = check(pa.table(records), replace(COLUMNS, groups_nulls=False), np.arange(2), ColumnTypes(), None)
    assert (checked.tuples.column("key").to_pylist(), checked.reasons) == ([""], ["sensor is null"])


def test_records_beside_rejected_ones_are_accepted_with_their_row_numbers() -> None:
    result = check_records(speed=pa.array([1.0, None, 3.0, float("nan")]))
    assert (result.tuples.column("row").to_pylist(), result.rejected.tolist()) == ([0, 2], [1, 3])
    assert result.reasons == ["speed is null", "speed is NaN"]


def test_a_rejected_record_has_only_its_first_reason() -> None:
    assert reasons(happened=pa.array([None], pa.int64()), speed=pa.array([float("nan")])) == {0: "happened is null"}


def test_times_at_the_bounds_are_accepted() -> None:
    assert reasons(happened=pa.array([EARLIEST, NOW + DAY])) == {}
    assert reasons(came=pa.array([LAST_ARRIVAL])) == {}


def test_an_event_time_is_accepted_up_to_the_latest_end_of_its_windows() -> None:
    columns = replace(COLUMNS, latest_ms=NOW + 10)
    result = check_records(columns=columns, happened=pa.array([NOW + 10, NOW + 11, NOW + DAY + 1]))
    too_late = "happened out of bounds: its last window ends after 9999"
    assert list(zip(result.rejected.tolist(), result.reasons, strict=True)) == [(1, too_late), (2, AHEAD)]


@pytest.mark.parametrize("time", [253_402_300_800_000, HIGHEST])
def test_the_default_bound_is_the_end_of_the_calendar(time: int) -> None:
    columns = replace(COLUMNS, ahead_ms=HIGHEST)
    assert check_records(columns=columns, happened=pa.array([time])).reasons == [
        "happened out of bounds: its last window ends after 9999"
    ]


FUTURE = "came out of bounds: later than the clock when it was read"


def test_arrival_is_accepted_up_to_the_skew_after_the_record_was_read() -> None:
    columns = replace(COLUMNS, skew_ms=60_000)
    came = pa.array([NOW, NOW + 60_000, NOW + 60_001, NOW + 100 * 365 * DAY])
    result = check_records(columns=columns, came=came, happened=came)
    assert list(zip(result.rejected.tolist(), result.reasons, strict=True)) == [(2, FUTURE), (3, FUTURE)]
    assert result.arrivals == came.to_pylist()[2:]


def test_arrival_is_not_bounded_where_the_time_of_reading_is_unknown() -> None:
    raw = pa.table({"happened": [NOW], "came": [NOW + DAY], "name": ["a"]})
    columns = source_mapping("happened", "came", "name", None, earliest_ms=EARLIEST, ahead_ms=DAY, skew_ms=0)
    assert check(raw, columns, np.arange(1), ColumnTypes(), None).tuples.num_rows == 1


def test_an_event_time_counts_up_to_the_skew_after_its_own_arrival() -> None:
    columns = replace(COLUMNS, skew_ms=100)
    event, arrival = np.array([50, 180, 400, 10**12]), np.array([100, 100, 200, 300])
    assert columns.counted_events(event, arrival).tolist() == [50, 180, 300, 400]
    assert COLUMNS.counted_events(event, arrival).tolist() == event.tolist()


def test_arrival_0_is_accepted() -> None:
    columns = source_mapping("happened", "came", "name", "sensor", earliest_ms=-DAY, ahead_ms=DAY)
    assert not len(check_records(columns=columns, happened=pa.array([0]), came=pa.array([0])).rejected)


@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Oslo"])
@pytest.mark.parametrize(("unit", "per_ms"), [("ms", 1), ("us", 1000), ("ns", 1_000_000)])
def test_times_of_any_unit_are_floored(unit: str, per_ms: int, zone: str | None) -> None:
    values = [NOW * per_ms, NOW * per_ms + per_ms - 1, NOW * per_ms - 1]
    expected = [NOW, NOW, NOW - 1]
    assert column("event_time", happened=pa.array(values, pa.timestamp(unit, zone))) == expected


@pytest.mark.parametrize("zone", [None, "UTC"])
def test_times_in_seconds(zone: str | None) -> None:
    assert column("event_time", happened=pa.array([NOW // 1000], pa.timestamp("s", zone))) == [NOW]


# -1 µs lies in the millisecond that begins at -1 ms
def test_negative_times_are_floored_not_truncated() -> None:
    columns = source_mapping("happened", "came", "name", "sensor", earliest_ms=-DAY, ahead_ms=DAY)
    times = pa.array([-1, -1000, -1001], pa.timestamp("us"))
    assert check_records(columns=columns, happened=times).tuples.column("event_time").to_pylist() == [-1, -1, -2]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2020-01-01", NOW),
        ("2020-01-01T00:00:00Z", NOW),
        ("2020-01-01 00:00:00.123999", NOW + 123),
        ("2020-01-01T02:00:00+02:00", NOW),
        ("2019-12-31T23:59:59.9999Z", NOW - 1),
    ],
)
def test_times_as_text(text: str, expected: int) -> None:
    assert column("event_time", happened=pa.array([text])) == [expected]


@pytest.mark.parametrize("word", ["now", "today"])
def test_a_word_is_no_time(word: str) -> None:
    assert reasons(happened=pa.array([word])) == {
        0: "happened is no time that could be read: ISO 8601, from 1678 to 2261"
    }


@pytest.mark.parametrize("text", ["1500-01-01", "2500-01-01"])
def test_a_text_outside_the_range_of_nanoseconds_is_rejected(text: str) -> None:
    assert reasons(happened=pa.array([text])) == {
        0: "happened is no time that could be read: ISO 8601, from 1678 to 2261"
    }


def test_without_an_arrival_column_the_arrival_time_is_that_of_ingest() -> None:
    columns = source_mapping("happened", None, "name", "sensor", earliest_ms=EARLIEST, ahead_ms=DAY)
    assert check_records(columns=columns).tuples.column("arrival_time").to_pylist() == [NOW]


def test_without_a_key_column_the_key_is_null() -> None:
    columns = source_mapping("happened", "came", "name", None, earliest_ms=EARLIEST, ahead_ms=DAY)
    assert check_records(columns=columns).tuples.column("key").to_pylist() == [None]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (pa.array([Decimal("1.25")]), 1.25),
        (pa.array([-7], pa.int8()), -7.0),
        (pa.array([255], pa.uint8()), 255.0),
        (pa.array([2**64 - 1], pa.uint64()), 2.0**64),
        (pa.array([2**53 + 1]), 2.0**53),
        (pa.array([0.1], pa.float32()), float(np.float32(0.1))),
        (pa.array([1.5], pa.float16()), 1.5),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else "",
)
def test_values_are_doubles(values: pa.Array, expected: float) -> None:
    assert column("value", speed=values) == [expected]


def test_ids_stay_integers_or_text() -> None:
    assert column("id", name=pa.array([7], pa.uint32())) == [7]
    assert column("id", name=pa.array(["7"])) == ["7"]
    assert column("id", name=pa.array(["7"], pa.large_string())) == ["7"]


def test_keys_are_cast_to_the_kinds_type() -> None:
    assert check_records(pa.int64(), sensor=pa.array([7], pa.int16())).tuples.column("key").type == pa.int64()
    assert column("key", sensor=pa.array(["a"]).dictionary_encode()) == ["a"]


def test_chunked_and_empty_columns_are_accepted() -> None:
    chunks = pa.chunked_array([pa.array([1.0, None]), pa.array([], pa.float64()), pa.array([2.0])])
    assert column("value", speed=chunks) == [1.0, 2.0]
    assert check_records(speed=pa.array([], pa.float64())).tuples.num_rows == 0
    assert check_records(happened=pa.array([], pa.string())).tuples.num_rows == 0


def test_timestamps_without_a_zone_are_utc() -> None:
    assert column("event_time", happened=pa.array([datetime(2020, 1, 1)])) == [NOW]


def lists(*values: list[float | None] | None) -> pa.Array:
    return pa.array(values, pa.list_(pa.float32()))


SHAPES = with_uses(
    COLUMNS,
    values={"histogram": "hist", "shape": "wkb", "name": "label"},
    types={"histogram": pa.list_(pa.float64()), "shape": pa.binary(), "name": pa.string()},
)


def shaped(columns: SourceMapping, hist: pa.Array, wkb: pa.Array, label: pa.Array) -> Checked:
    rows = len(hist)
    times = {name: pa.array([NOW] * rows) for name in ("happened", "came")}
    names = {"name": pa.array([f"n{row}" for row in range(rows)]), "sensor": pa.array(["s"] * rows)}
    raw = pa.table(times | names | {"hist": hist, "wkb": wkb, "label": label})
    return check(raw, columns, np.arange(rows), ColumnTypes(), None)


def test_lists_binary_and_text_reach_the_kind_in_its_types() -> None:
    checked = shaped(SHAPES, lists([1, 2], []), pa.array([b"\0", b""], pa.large_binary()), pa.array(["é", "a\0b"]))
    assert [checked.tuples.schema.field(name).type for name in SHAPES.values] == [*SHAPES.value_types.values()]
    assert checked.tuples.select(["histogram", "shape", "name"]).to_pylist() == [
        {"histogram": [1.0, 2.0], "shape": b"\0", "name": "é"},
        {"histogram": [], "shape": b"", "name": "a\0b"},
    ]


def test_what_the_kind_rejects_is_quarantined_with_its_reason() -> None:
    def mass(values: Mapping[str, pa.Array]) -> list[tuple[np.ndarray, str]]:
        sums = [sum(row or []) for row in values["histogram"].to_pylist()]
        return [(np.array(sums) <= 0, "hist has no mass")]

    columns = replace(SHAPES, row_check=mass)
    hist, names = lists([1, 2], [0, 0], None, []), pa.array([b"a"] * 4)
    checked = shaped(columns, hist, names, names.cast(pa.string()))
    assert checked.rejected.tolist() == [1, 2, 3]
    assert checked.reasons == ["hist has no mass", "hist is null", "hist has no mass"]


CARRIED = with_uses(COLUMNS, carried={"left_at": "at", "left_speed": "speed"})
CARRIED_TYPES = ColumnTypes(carried={"left_at": pa.timestamp("us", "UTC"), "left_speed": pa.float32()})


def test_a_carried_column_may_be_null_and_does_not_change_what_is_accepted() -> None:
    raw = {"happened": [NOW] * 3, "came": [NOW] * 3, "name": ["a", "b", "c"], "sensor": ["s"] * 3}
    at = pa.array([None, 1, 1 << 60], pa.timestamp("ms"))
    table = pa.table(raw | {"at": at, "speed": pa.array([1.5, None, 2.5], pa.float32())})
    checked = check(table, CARRIED, np.arange(3), CARRIED_TYPES, None)
    assert checked.tuples.schema.field("left_at").type == pa.timestamp("us", "UTC")
    assert checked.tuples.schema.field("value").type == pa.float64()
    assert [(row["left_at"], row["left_speed"], row["value"]) for row in checked.tuples.to_pylist()] == [
        (None, 1.5, 1.5)
    ]
    reasons = dict(zip(checked.rejected.tolist(), checked.reasons, strict=True))
    assert reasons == {1: "speed is null", 2: "at out of bounds: a date or a timestamp lies in the years 1 to 9999"}


LATIN = pa.array([b"a", b"caf\xe9", "é".encode()]).view(pa.string())


@pytest.mark.parametrize("part", ["name", "sensor"])
@pytest.mark.parametrize("as_dictionary", [False, True])
def test_an_id_or_key_that_is_no_utf_8_is_rejected_alone(part: str, as_dictionary: bool) -> None:
    texts = LATIN
    if as_dictionary:
        texts = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2], pa.int32()), LATIN, safe=False)
    checked = check_records(**{part: texts})
    assert (checked.rejected.tolist(), checked.reasons) == ([1], [f"{part} is no UTF-8"])
    assert checked.arrivals == [NOW]
    assert checked.tuples.column({"name": "id", "sensor": "key"}[part]).to_pylist() == ["a", "é"]


def test_a_carried_text_that_is_no_utf_8_is_rejected_though_it_may_be_null() -> None:
    columns = with_uses(COLUMNS, carried={"left_more": "more"})
    checked = check_records(columns=columns, more=pa.array([b"\xe9", None]).view(pa.string()))
    assert (checked.rejected.tolist(), checked.reasons) == ([0], ["more is no UTF-8"])
    assert checked.tuples.column("left_more").to_pylist() == [None]


def test_a_column_that_is_null_throughout_is_null_in_its_type() -> None:
    kind = pa.timestamp("us", "UTC")
    columns = with_uses(COLUMNS, carried={"left_more": "more"})
    types = ColumnTypes(pa.int64(), pa.int64(), {"left_more": kind})
    good = {"happened": [NOW], "came": [NOW], "name": [1], "sensor": [2], "speed": [1.0]}
    checked = check(pa.table(good | {"more": pa.nulls(1)}), columns, np.arange(1), types, None)
    assert checked.tuples.column("left_more") == pa.nulls(1, kind)
    for part, name in (("happened", "happened"), ("came", "came"), ("name", "id"), ("sensor", "key")):
        raw = pa.table(good | {part: pa.nulls(1), "more": pa.nulls(1)})
        checked = check(raw, replace(columns, groups_nulls=False), np.arange(1), types, None)
        assert checked.reasons == [f"{part} is null"], name
        assert checked.tuples.schema.field("id").type == checked.tuples.schema.field("key").type == pa.int64()


SECOND = NOW // 1000


@pytest.mark.parametrize(
    ("happened", "came", "reason", "hint"),
    [
        (SECOND, SECOND, EARLY, "happened looks like epoch seconds, and integers are read as epoch milliseconds"),
        (SECOND, NOW, EARLY, "happened looks like epoch seconds"),
        (NOW, SECOND, AHEAD, "came looks like epoch seconds"),
        (NOW * 1000, NOW, AHEAD, "happened looks like epoch microseconds"),
        (NOW * 10**6, NOW * 10**6, CAME, "came looks like epoch nanoseconds"),
    ],
)
def test_a_time_in_another_unit_is_named_as_such(happened: int, came: int, reason: str, hint: str) -> None:
    (found,) = reasons(happened=pa.array([happened]), came=pa.array([came])).values()
    assert found.startswith(f"{reason}; ")
    assert hint in found


def test_a_time_out_of_bounds_that_fits_no_unit_has_no_hint() -> None:
    assert reasons(happened=pa.array([5])) == {0: EARLY}
    assert reasons(happened=pa.array([SECOND * 1000], pa.timestamp("s"))) == {0: AHEAD}


def coded(codes: list[int | None], dictionary: list[str | None]) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int8()), pa.array(dictionary))


def check_keys(keys: pa.Array, coded_keys: bool = True, groups_nulls: bool = True) -> Checked:
    """Check two good records with these keys."""
    record = {"happened": [NOW] * 2, "came": [NOW] * 2, "name": ["x", "y"], "speed": [1.0, 2.0]}
    raw = pa.table({name: pa.array(values) for name, values in record.items()} | {"sensor": keys})
    columns = replace(COLUMNS, groups_nulls=groups_nulls)
    return check(raw, columns, np.arange(2), ColumnTypes(), None, coded_keys)


def test_keys_stay_codes_where_that_is_asked_for() -> None:
    keys = check_keys(coded([1, 0], ["a", "b", "c"])).tuples.column("key")
    assert keys.type == pa.dictionary(pa.int32(), pa.string())
    assert keys.to_pylist() == ["b", "a"]
    assert check_keys(coded([1, 0], ["a", "b", "c"]), coded_keys=False).tuples.column("key").type == pa.string()
    assert check_keys(pa.array(["b", "a"])).tuples.column("key").type == pa.string()


@pytest.mark.parametrize(
    "keys", [coded([0, 1], ["a", None]), coded([0, None], ["a", "b"])], ids=["in the dictionary", "as a code"]
)
def test_a_coded_key_that_is_null_is_a_key_of_its_own_or_rejected(keys: pa.Array) -> None:
    key = check_keys(keys).tuples.column("key")
    assert key.to_pylist() == ["a", None]
    code, dictionary = (key.indices, key.dictionary) if pa.types.is_dictionary(key.type) else (key, key)
    assert (code.null_count, dictionary.null_count) in ((0, 1), (1, 1)), "as a code it is in the dictionary"
    checked = check_keys(keys, groups_nulls=False)
    assert (checked.rejected.tolist(), checked.reasons) == ([1], ["sensor is null"])
    assert checked.tuples.column("key").to_pylist() == ["a"]


def test_a_key_that_is_in_the_dictionary_twice_is_one_key() -> None:
    assert check_keys(coded([0, 1], ["a", "a"])).tuples.column("key").type == pa.string()


@pytest.mark.parametrize("low", [EARLIEST, -(2**63)], ids=["sound", "so early that a difference overflows"])
def test_one_time_out_of_bounds_leaves_the_verdict_on_the_others(low: int) -> None:
    happened, came = pa.array([low, NOW, NOW + 2 * DAY, NOW]), pa.array([NOW, NOW, NOW, -1])
    names, values = pa.array(list("abcd")), pa.array([1.0, np.nan, 3.0, 4.0])
    found = reasons(happened=happened, came=came, name=names, sensor=names, speed=values)
    early = {} if low == EARLIEST else {0: "happened out of bounds: before the earliest accepted"}
    assert found == early | {
        1: "speed is NaN",
        2: "happened out of bounds: too far ahead of arrival",
        3: "came out of bounds: an arrival time lies between 1970 and 9998",
    }
