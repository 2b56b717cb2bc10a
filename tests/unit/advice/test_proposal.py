"""A query file for a sample of somebody's own data: it is valid, it runs, and it takes each record that is sound."""

from __future__ import annotations

import csv
import io
import json
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.suite.examples import drawn
from tailrace.advice.proposal import AmbiguousDates, Choices, propose
from tailrace.advice.table_sample import sample_of
from tailrace.ground.errors import Refused
from tailrace.query.loading import load

START = datetime(2024, 3, 14, 8, tzinfo=UTC)
FORMS = {
    "zoned": lambda time: time.isoformat(timespec="milliseconds"),
    "local": lambda time: time.strftime("%Y-%m-%dT%H:%M:%S"),
    "spaced": lambda time: time.strftime("%Y-%m-%d %H:%M:%S"),
    "seconds": lambda time: str(int(time.timestamp())),
    "fractions": lambda time: f"{time.timestamp():.2f}",
    "milliseconds": lambda time: str(int(time.timestamp() * 1000)),
    "microseconds": lambda time: str(int(time.timestamp() * 1_000_000)),
    "dots": lambda time: time.strftime("%d.%m.%Y %H:%M:%S"),
    "slashes": lambda time: time.strftime("%m/%d/%Y %H:%M"),
}
"""Ways to write a time; the days of these records are never those of a month's beginning, so their order shows."""
LOCAL = {"local", "spaced", "dots", "slashes"}
FAULTS = ("time", "value", "fields", "quote")


@st.composite
def dirty_csv(draw) -> tuple[bytes, int, str]:
    """A CSV file, the number of its sound records, and the form of its times."""
    form, has_arrival, has_id = draw(st.sampled_from(sorted(FORMS))), draw(st.booleans()), draw(st.booleans())
    count, chance = draw(st.integers(10, 40)), random.Random(draw(st.integers(0, 1000)))
    names = ["event time", *(["received"] if has_arrival else []), *(["order-id"] if has_id else [])]
    names += ["Stadt: #1", 'amount "net"']
    faults = draw(st.dictionaries(st.integers(0, count - 1), st.sampled_from(FAULTS), max_size=count // 5))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator=draw(st.sampled_from(["\n", "\r\n"])))
    writer.writerow(names)
    for number in range(count):
        arrival = START + timedelta(days=number // 15, seconds=7 * number)
        event = arrival - timedelta(seconds=chance.choice([0, 3, 90, 4000]))
        fault = faults.get(number)
        city = chance.choice(["Köln", "Bonn, West", 'say "x"', "two\nlines"])
        amount = "n/a" if fault == "value" else f"{number}.25"
        times = [FORMS[form](event), *([FORMS[form](arrival)] if has_arrival else [])]
        row = [
            "unknown" if fault == "time" else times[0],
            *times[1:],
            *([f"o{number}"] if has_id else []),
            city,
            amount,
        ]
        if fault == "quote":
            out.write('"broken"x,1\n')
            continue
        writer.writerow([*row, "more"] if fault == "fields" else row)
    bom = b"\xef\xbb\xbf" if draw(st.booleans()) else b""
    return bom + out.getvalue().encode(), count - len(faults), form


@drawn(20)
@given(dirty_csv(), st.sampled_from(["aggregate", "topk"]))
def test_the_file_for_a_dirty_csv_validates_and_takes_every_sound_record(tmp_path_factory, made, kind):
    content, sound, form = made
    directory = tmp_path_factory.mktemp("sample")
    sample, file = directory / "my data.csv", directory / "query.yaml"
    sample.write_bytes(content)
    proposal = propose(sample_of(sample), file, Choices({}, kind))
    assert proposal.report.accepted == sound
    assert proposal.draft.assumes_zone == (form in LOCAL)
    assert ("ASSUMED" in proposal.text) == (form in LOCAL)
    file.write_text(proposal.text)
    assert load(file) == proposal.query


@pytest.fixture
def proposed(tmp_path):
    """Write a CSV file and return the query proposed for it."""

    def propose_for(text: str, kind: str = "aggregate", timezone=None, date_order=None, **columns):
        (tmp_path / "a.csv").write_text(text)
        choices = Choices(columns, kind, timezone, date_order)
        return propose(sample_of(tmp_path / "a.csv"), tmp_path / "query.yaml", choices)

    return propose_for


READINGS = """ts,received,id,sensor,temp,other
2024-03-14T10:00:00Z,2024-03-14T10:00:05Z,1,a,1.5,7
2024-03-14T10:01:00Z,2024-03-14T10:01:05Z,2,b,2.5,8
2024-03-14T10:00:30Z,2024-03-14T10:02:05Z,3,a,3.5,7
2024-03-14T10:03:00Z,2024-03-14T10:03:05Z,4,b,4.5,8
"""


def test_the_parts_are_found_by_names_and_content(proposed):
    proposal = proposed(READINGS)
    found = {part: role.column.name for part, role in proposal.draft.roles.parts.items()}
    assert found == {"event_time": "ts", "arrival_time": "received", "id": "id", "key": "sensor", "value": "temp"}
    assert [*proposal.doubts()] == []
    assert proposal.profile.slack_ms(0.01) == 30_000
    assert "k: 30 s" in proposal.text


def readings(number: int, step: timedelta, zone: str = "") -> str:
    rows = [
        f"{(START + n * step).replace(tzinfo=None).isoformat()}{zone},{n},{'ab'[n % 2]},{n}.5" for n in range(number)
    ]
    return "\n".join(["ts,id,sensor,temp", *rows, ""])


@pytest.mark.parametrize(
    ("number", "step", "window"), [(8, 100, "5 min"), (10, 1, "1 s"), (2000, 1, "1 min"), (2, 3600, "15 min")]
)
def test_windows_are_so_long_that_answers_have_some_records(proposed, number, step, window):
    assert f"\nwindow: {window}  # or" in proposed(readings(number, timedelta(seconds=step), "Z")).text


def test_days_are_those_of_the_zone_that_times_are_of(proposed):
    zoned = proposed(readings(900, timedelta(hours=1), "Z")).text
    assert "\nwindow: 1 d  # or {size: 1 h, slide: 5 min}; by a calendar {size: 1 d, timezone: Europe/Berlin}" in zoned
    local = proposed(readings(900, timedelta(hours=1)), timezone="Asia/Tokyo")
    assert "\nwindow: {size: 1 d, timezone: Asia/Tokyo}  # or" in local.text
    assert local.query.window.timezone == "Asia/Tokyo"
    hours = proposed(readings(60, timedelta(minutes=30)), timezone="Asia/Tokyo").text
    assert "by a calendar {size: 1 d, timezone: Asia/Tokyo}, or 1 month" in hours


def test_the_file_says_that_try_cast_counts_records_without_a_number_and_a_directory_takes_more_files(proposed):
    rows = [f"2024-03-14T10:0{n}:00Z,{n},{'N/A' if n == 3 else f'{n}.50'}" for n in range(10)]
    proposal = proposed("\n".join(["ts,id,amount", *rows, ""]))
    assert proposal.report.accepted == 9
    assert "      # with try_cast in place of cast it has no number, and is counted.\n" in proposal.text
    assert "path: a.csv  # one file; if more will come, name a directory with all of them" in proposal.text
    assert "try_cast" not in proposed(READINGS).text


def test_the_other_columns_that_could_be_keys_are_named(proposed):
    rows = [f"2024-03-14T10:0{n}:00Z,{n},{'ab'[n % 2]},{'xy'[n % 2]},{n}.5,{'uv'[n // 5]}" for n in range(10)]
    text = "\n".join(["ts,id,sensor,room,temp,site", *rows])
    proposal = proposed(text)
    assert "    # other columns that could be keys: room (2 values), site (2 values)\n" in proposal.text
    assert any(line.endswith("; or --key room or site") for line in proposal.findings())
    assert "other columns that could be keys" not in proposed(text, key="site").text


def payments(*names: str) -> str:
    """Return a CSV file of payments with columns in an order."""
    columns = {
        "order id": [f"o{n}" for n in range(40)],
        "at": [f"2026-03-14T10:{n:02}:00Z" for n in range(40)],
        "payment": ["card", "cash"] * 20,
        "device_type": ["phone", "till"] * 20,
        "wing": ["east", "west"] * 20,
        "shop": ["Mitte", "Nord", "Hafen", "West"] * 10,
        "branch": [str(n % 4) for n in range(40)],
        "online": ["true", "false"] * 20,
        "amount": [f"{n}.{n:02}" for n in range(40)],
        "tip": [f"{n}.50" for n in range(40)],
        "level": [f"{n}.50" for n in range(40)],
        "n": [f"{n / 8}" for n in range(40)],
    }
    rows = zip(*(columns[name] for name in names), strict=True)
    return "\n".join([",".join(names), *(",".join(row) for row in rows), ""])


@pytest.mark.parametrize(
    ("columns", "key"),
    [
        (("payment", "shop"), "shop"),
        (("payment", "wing"), "wing"),
        (("payment", "device_type"), "device_type"),
        (("device_type", "shop"), "shop"),
        (("online", "wing"), "wing"),
        (("payment", "online"), "payment"),
        (("branch", "shop"), "shop"),
        (("payment", "branch"), "branch"),
    ],
)
def test_a_place_a_person_or_a_thing_is_the_key_before_a_category(proposed, columns, key):
    proposal = proposed(payments("order id", "at", *columns, "amount"))
    assert proposal.query.streams["records"].key == key
    (other,) = set(columns) - {key}
    assert f"# other columns that could be keys: {other} (" in proposal.text


@pytest.mark.parametrize(
    ("columns", "value", "cast"),
    [
        (("amount", "n"), "amount", "cast(`amount` as decimal(18, 2))"),
        (("n", "tip"), "tip", "cast(`tip` as decimal(18, 2))"),
    ],
)
def test_money_gets_a_sum_of_decimals(proposed, columns, value, cast):
    proposal = proposed(payments("order id", "at", *columns), value=value)
    assert proposal.query.streams["records"].columns == {"money": cast}
    total = proposal.query.aggregate.each["total"]
    assert (total.function, total.column) == ("sum", "money")
    assert f"  # {value} looks like money: " in proposal.text
    assert proposal.report.accepted == 40


def test_other_numbers_get_their_mean_and_the_other_columns_are_named(proposed):
    proposal = proposed(payments("order id", "at", "level", "n"))
    assert (proposal.query.aggregate.each["mean"].column, proposal.query.streams["records"].columns) == ("level", {})
    assert "  # other columns of numbers: n (40 values)\n" in proposal.text


def test_money_in_an_exact_type_is_summed_as_it_is(tmp_path):
    rows = [{"at": START, "id": str(n), "amount_cents": n} for n in (3, 1, 2)]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet")
    proposal = propose(sample_of(tmp_path / "a.parquet"), tmp_path / "query.yaml", Choices({}))
    total = proposal.query.aggregate.each["total"]
    assert (total.function, total.column) == ("sum", "amount_cents")
    assert "decimals" not in proposal.text


def test_a_ranking_takes_money_as_it_is(proposed):
    assert proposed(payments("order id", "at", "amount"), kind="topk").query.topk.score == "amount"


def test_what_the_user_names_stands_before_what_is_found(proposed):
    proposal = proposed(READINGS, event_time="received", id="temp", key="other", value="other", kind="topk")
    stream = proposal.query.streams["records"]
    assert (stream.event_time, stream.id, stream.key) == ("received", "temp", "other")
    assert proposal.query.topk.score == "other"
    assert proposal.report.accepted == 4


@pytest.mark.parametrize(
    ("columns", "fault", "remedy"),
    [
        ({"event_time": "tss"}, "no such column", "ts; one of"),
        ({"event_time": "temp"}, "no times, as 1.5", "ISO 8601"),
        ({"value": "sensor"}, "no numbers, as a", "numbers"),
    ],
)
def test_a_named_column_that_can_not_be_the_part_is_refused(proposed, columns, fault, remedy):
    with pytest.raises(Refused) as refused:
        proposed(READINGS, **columns)
    (problem,) = refused.value.problems
    assert fault in problem.fault
    assert remedy in problem.remedy
    assert problem.where.startswith("--")


def test_arrival_before_the_event_is_no_arrival(proposed):
    swapped = READINGS.replace("ts,received", "ts,processed").replace("2024-03-14T10:0", "2025-03-14T10:0", 0)
    rows = [line.split(",") for line in swapped.splitlines()]
    text = "\n".join(",".join([row[0], row[1].replace("2024", "2023"), *row[2:]]) for row in rows) + "\n"
    assert proposed(text).draft.roles.column("arrival_time") is None


def test_days_and_months_that_can_not_be_told_apart_are_refused_and_read_as_the_user_says(proposed):
    text = "when,v\n03/04/2024 10:00,1\n05/04/2024 11:00,2\n"
    with pytest.raises(AmbiguousDates) as ambiguous:
        proposed(text)
    assert "--date-order day, or --date-order month" in str(ambiguous.value)
    for order, first in (("day", "2024-04-03"), ("month", "2024-03-04")):
        proposal = proposed(text, date_order=order, timezone="Europe/Berlin")
        utc = datetime.fromisoformat(f"{first}T10:00:00").timestamp() * 1000
        assert abs(proposal.profile.first - utc) <= 2 * 3_600_000
        assert "timezone: Europe/Berlin" in proposal.text


def test_local_times_are_read_in_the_zone_that_is_said(proposed):
    text = "when,v\n14.03.2024 10:00:00,1\n14.07.2024 10:00:00,2\n"
    proposal = proposed(text, timezone="Europe/Berlin")
    ends = [datetime(2024, 3, 14, 9, tzinfo=UTC), datetime(2024, 7, 14, 8, tzinfo=UTC)]
    assert [proposal.profile.first, proposal.profile.last] == [time.timestamp() * 1000 for time in ends]
    assert not proposal.draft.assumes_zone


def test_records_without_an_id_get_one_of_the_fewest_columns_that_tell_them_apart(proposed):
    by_time = proposed("ts,v\n2024-03-14T10:00:00Z,1\n2024-03-14T10:00:01Z,1\n")
    assert by_time.draft.record_id.expression == "coalesce(cast(`ts` as string), '')"
    by_both = proposed("ts,dev,v\n2024-03-14T10:00:00Z,a,1\n2024-03-14T10:00:00Z,b,1\n2024-03-14T10:00:01Z,b,1\n")
    assert "dev" in by_both.draft.record_id.expression
    assert "md5" not in by_both.draft.record_id.expression
    by_all = proposed("ts,dev,v\n2024-03-14T10:00:00Z,a,1\n2024-03-14T10:00:00Z,a,2\n2024-03-14T10:00:01Z,b,1\n")
    assert by_all.draft.record_id.expression.startswith("md5(")
    assert by_all.report.accepted == 3


def test_a_column_with_few_repeats_is_an_id_though_its_name_does_not_say_so(proposed):
    lines = [f"2024-03-14T10:{n // 60:02}:{n % 60:02}Z,R{n:03},tea,{n}" for n in range(300)]
    repeated = [*lines, lines[3], lines[4].replace("tea", "milk")]
    proposal = proposed("\n".join(["ts,receipt,product,v", *repeated, ""]))
    role = proposal.draft.roles.parts["id"]
    assert (role.column.name, proposal.draft.record_id) == ("receipt", None)
    assert "2 repeat one before" in role.reason
    often = proposed("\n".join(["ts,receipt,product,v", *lines, *lines[:30], ""]))
    assert "id" not in often.draft.roles.parts


RESENT = """reading_id,measured,received,sensor,celsius
r1,2026-11-23T08:00:05Z,2026-11-23T08:00:06Z,hall,18.5
r2,2026-11-23T08:00:30Z,2026-11-23T08:00:31Z,roof,4.0
r3,2026-11-23T08:00:40Z,2026-11-23T08:00:41Z,hall,19.5
r4,2026-11-23T08:01:10Z,2026-11-23T08:01:11Z,hall,20.0
r3,2026-11-23T08:00:40Z,2026-11-23T08:01:35Z,hall,19.5
"""
"""Readings of which one is sent again and arrives later."""


def test_a_record_that_is_sent_again_is_a_repeat_though_no_column_is_an_id(proposed):
    proposal = proposed(RESENT.replace("reading_id", "subject"))
    assert "received" not in proposal.draft.record_id.expression
    assert [repeats.number for repeats in proposal.report.repeats] == [1]
    assert "id: record_id  # no column is an id: records that are the same in all columns but the arrival" in (
        proposal.text
    )


def test_a_small_file_with_a_record_that_is_sent_again_has_an_id_by_name_and_content(proposed):
    role = proposed(RESENT).draft.roles.parts["id"]
    assert (role.column.name, role.reason.endswith("; 1 repeat one before")) == ("reading_id", True)
    changed = proposed(RESENT.replace("08:01:35Z,hall,19.5", "08:01:35Z,hall,29.5"))
    assert "id" not in changed.draft.roles.parts
    assert "reading_id: 4 different of 5 records; repeats? --id reading_id" in [*changed.doubts()]
    assert "    # other columns that could be the id: reading_id (4 values)\n" in changed.text


def sessions(repeats: int, name: str = "session", number: int = 100) -> str:
    """Return a CSV file of sessions, the first ones a second time, with another energy."""
    lines = [f"S{n:03}" if name == "my session" else f"{7 * n}" for n in range(number)]
    rows = [f"{each},2024-03-14T10:{n // 60:02}:{n % 60:02}Z,hall,{n}.5" for n, each in enumerate(lines)]
    again = [row.rpartition(",")[0] + ",7.25" for row in rows[:repeats]]
    return "\n".join([f"{name},at,site,energy", *rows, *again, ""])


@pytest.mark.parametrize("name", ["my session", "ticket"])
def test_a_column_that_is_nearly_unique_is_named_as_an_id(proposed, name):
    proposal = proposed(sessions(9, name))
    assert proposal.draft.record_id is not None
    option = f"'{name}'" if " " in name else name
    assert f"{name}: 100 different of 109 records; repeats? --id {option}" in [*proposal.doubts()]
    assert f"    # other columns that could be the id: {name} (100 values)\n" in proposal.text
    assert not any("repeats?" in doubt for doubt in proposed(sessions(20, name)).doubts())
    assert not any("repeats?" in doubt for doubt in proposed(sessions(9, "weight")).doubts())
    assert not any("repeats?" in doubt for doubt in proposed(sessions(9, name), id=name).doubts())


@pytest.mark.parametrize(("repeats", "name", "number"), [(0, "ticket", 30), (1, "my session", 18)])
def test_no_id_is_proposed_where_each_time_is_new_nor_by_content_of_a_small_file(proposed, repeats, name, number):
    proposal = proposed(sessions(repeats, name, number))
    assert proposal.draft.record_id.others == ()


def test_times_of_event_and_arrival_that_are_swapped_are_doubtful(proposed):
    swapped = proposed(RESENT, event_time="received", arrival_time="measured")
    line = "stream records: event_time is after arrival_time in 5 of 5 records; are the two swapped?"
    assert next(swapped.doubts()) == line


def test_times_before_the_bounds_get_bounds_of_their_own(proposed):
    proposal = proposed("ts,v\n1994-03-14T10:00:00Z,1\n1994-03-14T10:00:01Z,1\n")
    assert "earliest: '1994-01-01'" in proposal.text
    assert proposal.report.accepted == 2


def test_one_time_of_twenty_years_ago_moves_neither_bounds_nor_windows(proposed):
    times = [f"2024-03-14T10:{minute:02}:00Z,{minute}" for minute in range(20)]
    usual = proposed("\n".join(["ts,v", *times, ""]))
    proposal = proposed("\n".join(["ts,v", *times[:7], "1994-03-14T10:00:00Z,7", *times[7:], ""]))
    assert "bounds:" not in proposal.text
    assert proposal.query.window == usual.query.window
    assert proposal.query.disorder == usual.query.disorder
    assert proposal.report.accepted == 20


def test_one_column_of_times_is_enough(proposed):
    proposal = proposed("ts\n2024-03-14T10:00:00Z\n2024-03-14T10:00:01Z\n")
    assert proposal.report.accepted == 2
    with pytest.raises(Refused, match="no column holds the times"):
        proposed("v\nx\n")


def test_the_worst_comes_first(proposed):
    broken = READINGS + "x,y\n" * 5
    assert next(proposed(broken).doubts()).startswith("5 of 9 records go to quarantine; the first: a.csv, line 6: ")
    local = READINGS.replace("Z", "") + "x,y\n"
    doubts = [*proposed(local).doubts()]
    assert "no zone" in doubts[0]
    assert "1 of 5 records" in doubts[1]


def test_a_sample_of_which_no_record_fits_is_refused(proposed):
    with pytest.raises(Refused, match="none of its records fits"):
        proposed("ts,v\n3024-03-14T10:00:00Z,1\n3024-03-14T10:00:01Z,1\n", timezone="UTC")


def test_joins_are_refused_with_their_template(proposed):
    with pytest.raises(Refused, match="tailrace new emd_join"):
        proposed(READINGS, kind="emd_join")


ROWS = [
    {"at": START + timedelta(seconds=number), "sensor": "ab"[number % 2], "speed": number / 4, "tags": [1, 2]}
    for number in range(30)
]


def test_columns_of_one_name_are_left_out_with_a_word(proposed):
    rows = "".join(f"2024-03-14T10:00:{number:02}Z,{number},a,7,b\n" for number in range(30))
    proposal = proposed("at,reading_id,sensor,speed,sensor\n" + rows)
    assert "left out, as they are lists or objects, or their names stand twice or are empty: sensor" in [
        *proposal.findings()
    ]


def test_a_header_among_the_records_is_named(proposed):
    header, rows = "at,reading_id\n", "".join(f"2024-03-14T10:00:{number:02}Z,r{number}\n" for number in range(30))
    assert not any("header" in doubt for doubt in proposed(header + rows).doubts())
    doubts = [*proposed(header * 2 + rows + header).doubts()]
    assert "the header is repeated in 2 records, to go to quarantine" in doubts
    assert any(doubt.startswith("2 of 32 records go to quarantine") for doubt in doubts)


@pytest.mark.parametrize(
    ("zones", "words"),
    [
        (("", ""), "the times state no zone"),
        (("Z", ""), "the times of received state no zone"),
        (("mixed", "Z"), "some times of ordered state no zone"),
        (("mixed", ""), "some times of ordered and received state no zone"),
    ],
)
def test_it_says_which_times_state_no_zone(proposed, zones, words):
    of = [["Z", ""] if zone == "mixed" else [zone] for zone in zones]
    rows = "".join(
        f"2024-03-14T10:00:{number:02}{of[0][number % len(of[0])]},2024-03-14T10:01:{number:02}{of[1][0]},{number}\n"
        for number in range(30)
    )
    proposal = proposed("ordered,received,order_id\n" + rows)
    assert f"ASSUMED: {words}. Write the zone of the clocks" in proposal.text
    assert any(doubt.startswith(f"{words}, and the file takes them for UTC") for doubt in proposal.doubts())


@pytest.mark.parametrize("form", ["parquet", "json", "directory"])
def test_parquet_and_json_lines_are_samples_too(tmp_path, form):
    path = tmp_path / f"a.{'parquet' if form == 'parquet' else 'json'}"
    if form == "parquet":
        pq.write_table(pa.Table.from_pylist(ROWS), path)
    else:
        lines = [json.dumps(row | {"at": row["at"].isoformat()}) for row in ROWS]
        path.write_text("\n".join([*lines, "no record", ""]))
    if form == "directory":
        (tmp_path / "in").mkdir()
        path = path.rename(tmp_path / "in" / path.name).parent
    sample = sample_of(path)
    assert sample.others == ("tags",)
    proposal = propose(sample, tmp_path / "query.yaml", Choices({}))
    found = {part: role.column.name for part, role in proposal.draft.roles.parts.items()}
    assert found == {"event_time": "at", "key": "sensor", "value": "speed"}
    assert proposal.report.accepted == 30


def test_a_delta_table_is_a_sample_too(tmp_path):
    import deltalake

    table = pa.Table.from_pylist(ROWS)
    deltalake.write_deltalake(str(tmp_path / "table"), table)
    proposal = propose(sample_of(tmp_path / "table"), tmp_path / "query.yaml", Choices({}))
    assert "format: delta" in proposal.text
    assert proposal.report.accepted == 30


def test_paths_are_relative_to_the_query_file(tmp_path):
    (tmp_path / "queries").mkdir()
    (tmp_path / "a.csv").write_text(READINGS)
    proposal = propose(sample_of(tmp_path / "a.csv"), Path(tmp_path / "queries" / "q.yaml"), Choices({}))
    assert "path: ../a.csv" in proposal.text
