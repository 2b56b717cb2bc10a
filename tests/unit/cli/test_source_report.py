"""The command validate --source: counts of what is accepted, filtered and rejected, the first line, and tables."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

QUERY = """name: orders
kind: aggregate
streams:
  orders:
    source: {format: csv, path: orders.csv}
    event_time: at
    id: id
    lookup:
      products: {path: products.csv, key: sku, columns: [category]}
    where: category <> 'samples'
    key: category
window: 1 h
aggregate: {function: count}
"""
ORDERS = """at,id,sku
2024-03-14T10:00:00Z,1,a
"2024-03-14T10:00:01Z",2,"b"
later,"4
5",b
2024-03-14T10:00:02Z,,b
2024-03-14T10:00:02Z,7,c
"""


@pytest.fixture
def file(tmp_path):
    (tmp_path / "orders.csv").write_text(ORDERS)
    (tmp_path / "products.csv").write_text("sku,category\na,toys\nb,tools\nc,samples\n")
    (tmp_path / "query.yaml").write_text(QUERY)
    return tmp_path / "query.yaml"


def test_the_report_counts_records_and_names_the_first_line_and_the_tables(tailrace, file):
    shown = tailrace("validate", file, "--source").stdout
    assert "of 5 records that were looked at 2 fit, 1 are left out by where, 2 do not" in shown
    assert "the first of them: orders.csv, line 4: at is no time that could be read" in shown
    assert "lookup orders.products: " in shown
    assert "3 rows" in shown


def test_a_table_that_is_not_fit_is_refused(tailrace, file):
    (file.parent / "products.csv").write_text("sku,category\na,toys\na,tools\n")
    assert "products.csv" in tailrace("validate", file, "--source", code=2).stderr


def test_a_source_of_which_no_record_fits_is_refused(tailrace, file):
    (file.parent / "orders.csv").write_text("at,id,sku\n1994-03-14T10:00:00Z,1,a\n")
    refused = tailrace("validate", file, "--source", code=2)
    assert "of 1 record that were looked at 0 fit, 1 do not" in refused.stdout
    assert "none of its records fits: 1 × at out of bounds" in refused.stderr


def test_a_condition_that_leaves_out_each_record_is_doubtful(tailrace, file):
    words = "attention: where of stream orders is false or null for each record that fits: "
    assert "attention: where" not in tailrace("validate", file, "--source").stdout
    file.write_text(QUERY.replace("<> 'samples'", "= 'samples'"))
    (file.parent / "orders.csv").write_text("at,id,sku\n2024-03-14T10:00:00Z,1,a\n2024-03-14T10:00:01Z,2,b\n")
    assert f"{words}2 of 2, 0 rejected; explain FILE --sample" in tailrace("validate", file, "--source").stdout
    (file.parent / "orders.csv").write_text("at,id,sku\n2024-03-14T10:00:00Z,1,a\nlater,2,c\n")
    assert f"{words}1 of 2, 1 rejected" in tailrace("validate", file, "--source", code=2).stdout


@pytest.mark.parametrize(
    ("events", "arrivals", "words"),
    [
        ((5, 6, 7), (5, 5, 6), "in 2 of 3 records"),
        ((5, 6, 7), (5, 6, 6), None),
        ((5.2, 6.4, 7.8), (5, 6, 7), None),
        ((5.2, 6.4, 7.8), (5.1, 6.3, 8), "in 2 of 3 records"),
        ((5, 6, 7), (0, 0, 0), None),
        ((65, 66, 67), (0, 0, 0), "in 3 of 3 records"),
        ((5, 6, 7), None, None),
    ],
    ids=["most", "some", "seconds", "fractions", "minutes", "a minute later", "no arrival"],
)
def test_event_times_after_the_arrival_of_most_records_are_doubtful(tailrace, file, events, arrivals, words):
    stamps = [
        [f"2024-03-14T10:{int(s) // 60:02}:{s % 60:04.1f}Z" for s in each] for each in (events, arrivals or events)
    ]
    rows = [f"{event},{number},a,{arrival}" for number, (event, arrival) in enumerate(zip(*stamps, strict=True))]
    (file.parent / "orders.csv").write_text("\n".join(["at,id,sku,came", *rows, ""]))
    if arrivals is not None:
        file.write_text(QUERY.replace("    id: id\n", "    arrival_time: came\n    id: id\n"))
    shown = tailrace("validate", file, "--source").stdout
    line = f"attention: stream orders: event_time is after arrival_time {words}; are the two swapped?"
    assert line in shown if words else "swapped" not in shown


def test_records_without_an_arrival_time_are_not_after_it(tailrace, file):
    soon = datetime.now(UTC) + timedelta(minutes=30)
    (file.parent / "orders.csv").write_text(f"at,id,sku\n{soon.isoformat()},1,a\n")
    shown = tailrace("validate", file, "--source").stdout
    assert "1 fit" in shown
    assert "swapped" not in shown


def test_a_derived_text_is_an_event_time_where_the_stream_says_its_zone(tailrace, file):
    text = QUERY.replace("event_time: at", "event_time: iso\n    columns: {iso: \"replace(at, 'x', '')\"}")
    file.write_text(text)
    refused = tailrace("validate", file, "--source", code=2).stderr
    assert "its type is string, but it is the query's event_time" in refused
    assert "a timezone in the stream" in refused
    file.write_text(text.replace("    key: category", "    key: category\n    timezone: Europe/Berlin"))
    (file.parent / "orders.csv").write_text("at,id,sku\nx2024-03-14T10:00:00,1,a\n")
    assert "1 fit, 0 do not" in tailrace("validate", file, "--source").stdout


def test_the_geometries_of_a_join_with_a_table_are_read(tailrace, tmp_path):
    (tmp_path / "taxis.csv").write_text("at,id,lon,lat\n2024-03-14T10:00:00Z,1,1,1\n")
    (tmp_path / "districts.csv").write_text('name,geom\ncentre,"POLYGON((0 0,2 0,2 2,0 2,0 0))"\n')
    (tmp_path / "query.yaml").write_text(
        """name: taxis
kind: spatial_join
streams:
  left:
    source: {format: csv, path: taxis.csv}
    event_time: at
    id: id
spatial_join:
  join: table
  relation: within
  geometry: {left: {x: lon, y: lat}}
  table: {path: districts.csv, id: name, geometry: geom}
"""
    )
    shown = tailrace("validate", tmp_path / "query.yaml", "--source").stdout
    assert "districts.csv: " in shown
    (tmp_path / "districts.csv").write_text("name,geom\ncentre,POINT\n")
    assert "districts.csv" in tailrace("validate", tmp_path / "query.yaml", "--source", code=2).stderr


def test_a_selected_column_that_is_null_throughout_is_carried_as_the_run_carries_it(tailrace, tmp_path):
    times = pa.array([0, 1000], pa.timestamp("ms", "UTC"))
    rows = {"at": times, "id": ["a", "b"], "price": [1.0, 2.0], "note": pa.nulls(2)}
    pq.write_table(pa.table(rows), tmp_path / "in.parquet")
    query = """name: best
kind: topk
streams:
  trades:
    source: {format: parquet, path: in.parquet}
    event_time: at
    id: id
    bounds: {earliest: 1970-01-01}
window: 5 s
topk: {k: 2, score: price, select: [note]}
"""
    (tmp_path / "query.yaml").write_text(query)
    shown = tailrace("validate", tmp_path / "query.yaml", "--source").stdout
    assert "note string" in shown
    assert "of 2 records that were looked at 2 fit, 0 do not" in shown
    (tmp_path / "query.yaml").write_text(query.replace("score: price", "score: note"))
    refused = tailrace("validate", tmp_path / "query.yaml", "--source", code=2).stderr
    assert "no record has a value of a fitting type in each of at, id, note" in refused


@pytest.mark.parametrize(
    ("zone", "end", "is_warned"),
    [("Europe/Berlin", "", True), ("Europe/Berlin", "Z", False), ("UTC", "", False), (None, "", False)],
)
def test_local_times_that_clocks_show_twice_are_a_warning(tailrace, file, zone, end, is_warned):
    hours = ("00:30", "02:30", "02:59", "03:00")
    rows = [f"2024-10-27T{hour}:00{end},{number},a" for number, hour in enumerate(hours)]
    (file.parent / "orders.csv").write_text("\n".join(["at,id,sku", *rows]) + "\n")
    if zone is not None:
        file.write_text(QUERY.replace("    id: id", f"    id: id\n    timezone: {zone}"))
    shown = tailrace("validate", file, "--source").stdout
    warning = "warning: 2 event times without an offset, first in orders.csv, line 3: clocks of Europe/Berlin showed"
    assert (warning in shown) is is_warned
    assert ("showed twice" in shown) is is_warned
