"""Streams generated from a seed: order, completeness, determinism, files."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.json as pj
import pyarrow.parquet as pq
import pytest

from generators.delays import delay_model, epoch_ms
from generators.replay import MAX_FILES, TIME, disorder, generate, write
from generators.replay import read as read_source
from tailrace.ground.errors import Refused

START = 1_700_000_000_000


def stream(rows: int = 5000, seed: int = 3, model: str = "exponential:2 s", keys: int = 20) -> pa.Table:
    return generate(rows, 100, keys, delay_model(model), seed, START)


def read(paths: list[Path], schema: pa.Schema) -> pa.Table:
    """Read all files in the given order, each with the reader of its format."""
    options = pj.ParseOptions(explicit_schema=pa.schema([(f.name, _as_text(f.type)) for f in schema]))
    return pa.concat_tables(
        pq.read_table(path) if path.suffix == ".parquet" else pj.read_json(path, parse_options=options).cast(schema)
        for path in paths
    )


def _as_text(type_: pa.DataType) -> pa.DataType:
    return pa.string() if pa.types.is_timestamp(type_) else type_


def test_generated_columns() -> None:
    table = stream()
    assert [(f.name, f.type) for f in table.schema] == [
        ("id", pa.int64()),
        ("event_time", TIME),
        ("arrival_time", TIME),
        ("sensor", pa.string()),
        ("value", pa.float64()),
    ]
    assert not any(column.null_count for column in table.columns)
    by_id = table.sort_by("id")
    assert by_id.column("id").to_pylist() == list(range(5000))
    assert epoch_ms(by_id.column("event_time")).tolist() == [START + 10 * i for i in range(5000)]
    assert set(table.column("sensor").to_pylist()) == {f"s{key:04d}" for key in range(20)}


def test_a_rate_that_does_not_divide_a_second_keeps_its_mean() -> None:
    times = epoch_ms(generate(3001, 3, 1, delay_model("none"), 0, 0).column("event_time"))
    assert times[:4].tolist() == [0, 333, 666, 1000]
    assert times[-1] == 1_000_000


def test_values_are_positive_and_skewed() -> None:
    values = np.asarray(stream(200_000).column("value"))
    assert values.min() > 0
    assert np.median(values) == pytest.approx(2, rel=0.02)
    assert values.mean() == pytest.approx(2 * np.exp(0.32), rel=0.02)


def test_order_is_by_arrival_and_delays_are_the_models() -> None:
    table = stream(100_000)
    arrival = epoch_ms(table.column("arrival_time"))
    delays = arrival - epoch_ms(table.column("event_time"))
    assert (np.diff(arrival) >= 0).all()
    assert delays.min() >= 0
    assert delays.mean() == pytest.approx(2000, rel=0.02)
    assert (np.diff(np.asarray(table.column("id"))) < 0).any()


def test_ties_keep_the_order_of_the_table() -> None:
    table = pa.table({"id": list(range(1000)), "at": [START + i % 2 for i in range(1000)]})
    in_order = [*range(0, 1000, 2), *range(1, 1000, 2)]
    assert disorder(table, "at", delay_model("none"), 1).column("id").to_pylist() == in_order


def test_a_seed_determines_the_stream_and_a_model_changes_arrival_alone() -> None:
    assert stream().equals(stream())
    assert not stream(model="none").equals(stream(model="none", seed=4))
    model = delay_model("game1")
    assert not disorder(stream(), "event_time", model, 1).equals(disorder(stream(), "event_time", model, 2))
    tuples = ["id", "event_time", "sensor", "value"]
    other = stream(model="game2")
    assert stream().select(tuples).sort_by("id").equals(other.select(tuples).sort_by("id"))


def test_disorder_keeps_the_rows_and_other_columns() -> None:
    rng = np.random.default_rng(5)
    table = pa.table(
        {
            "name": [f"n{i % 7}" for i in range(2000)],
            "at": pa.array(START * 1000 + rng.integers(0, 10**9, 2000), pa.timestamp("us")),
            "hist": [[float(i), 1.0] for i in range(2000)],
        }
    )
    out = disorder(table, "at", delay_model("game1"), 9)
    assert out.column_names == ["name", "at", "hist", "arrival_time"]
    assert out.schema.field("at").type == TIME

    def rows(stream_table: pa.Table) -> list[tuple[object, ...]]:
        return sorted(
            zip(
                stream_table["name"].to_pylist(),
                epoch_ms(stream_table["at"]),
                stream_table["hist"].to_pylist(),
                strict=True,
            )
        )

    assert rows(out) == rows(table)
    second = disorder(out, "at", delay_model("none"), 9)
    assert second.column_names == out.column_names
    assert second["arrival_time"].equals(second["at"])


@pytest.mark.parametrize("format", ["parquet", "json"])
def test_files_are_consecutive_ranges_that_read_back_equal(tmp_path: Path, format: str) -> None:
    table = stream(1003)
    reported: list[tuple[Path, int]] = []
    paths = write(table, tmp_path / "deep" / "out", 7, format, lambda *file: reported.append(file))  # type: ignore[arg-type]
    progress = [rows for _, rows in reported]
    assert [path for path, _ in reported] == paths
    assert [path.name for path in paths] == [f"part-{n:05d}.{format}" for n in range(7)]
    assert sorted((tmp_path / "deep" / "out").iterdir()) == paths
    assert sum(progress) == 1003
    assert max(progress) - min(progress) <= 1
    assert [read([path], table.schema).num_rows for path in paths] == progress
    assert read(paths, table.schema).equals(table)


@pytest.mark.parametrize("format", ["parquet", "json"])
def test_the_same_stream_gives_the_same_bytes(tmp_path: Path, format: str) -> None:
    once, twice = (write(stream(), tmp_path / name, 3, format) for name in "ab")  # type: ignore[arg-type]
    assert [path.read_bytes() for path in once] == [path.read_bytes() for path in twice]


def test_json_times_are_iso_with_milliseconds_and_z(tmp_path: Path) -> None:
    (path,) = write(generate(1, 1, 1, delay_model("none"), 0, START + 7), tmp_path, 1, "json")
    assert path.read_text().count('"2023-11-14T22:13:20.007Z"') == 2


def test_json_keeps_long_ids_beside_nulls(tmp_path: Path) -> None:
    (path,) = write(pa.table({"id": [2**60 + 1, None]}), tmp_path, 1, "json")
    assert path.read_text() == '{"id":1152921504606846977}\n{"id":null}\n'


@pytest.mark.parametrize("format", ["parquet", "json"])
def test_an_empty_stream_gives_an_empty_file(tmp_path: Path, format: str) -> None:
    (path,) = write(stream(0), tmp_path, 2, format)  # type: ignore[arg-type]
    if format == "parquet":
        assert read([path], stream(0).schema).equals(stream(0))
    else:
        assert path.read_text().strip() == ""


@pytest.mark.parametrize("format", ["parquet", "json"])
def test_a_stream_of_few_rows_gives_no_empty_files(tmp_path: Path, format: str) -> None:
    paths = write(stream(3), tmp_path, 10, format)  # type: ignore[arg-type]
    assert [read([path], stream(3).schema).num_rows for path in paths] == [1, 1, 1]


def test_existing_files_are_not_overwritten(tmp_path: Path) -> None:
    other = tmp_path / "other.txt"
    other.write_text("mine")
    with pytest.raises(Refused, match="not empty"):
        write(stream(10), tmp_path, 1)
    with pytest.raises(Refused, match="is a file"):
        write(stream(10), other, 1)
    assert [path.name for path in tmp_path.iterdir()] == ["other.txt"]
    assert other.read_text() == "mine"


def test_a_file_appears_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(table: pa.Table, path: Path, **options: object) -> None:
        path.write_bytes(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(pq, "write_table", fail)
    with pytest.raises(OSError, match="disk full"):
        write(stream(10), tmp_path, 1)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rows": -1}, "rows is -1; right is at least 0"),
        ({"keys": 0}, "keys is 0; right is at least 1"),
        ({"seed": -1}, "seed is -1; right is at least 0"),
        ({"rate": 0.0}, "greater than 0"),
        ({"rate": float("nan")}, "greater than 0"),
    ],
)
def test_arguments_out_of_range_are_refused(change: dict[str, float], message: str) -> None:
    arguments = {"rows": 10, "rate": 1.0, "keys": 1, "seed": 0, "start_ms": START} | change
    with pytest.raises(ValueError, match=message):
        generate(model=delay_model("none"), **arguments)  # type: ignore[arg-type]


def test_a_wrong_event_column_or_number_of_files_is_refused(tmp_path: Path) -> None:
    model = delay_model("none")
    with pytest.raises(ValueError, match="no column at; right is one of id, event_time"):
        disorder(stream(10), "at", model, 0)
    with pytest.raises(ValueError, match="string holds no times"):
        disorder(stream(10), "sensor", model, 0)
    for files in (0, MAX_FILES + 1):
        with pytest.raises(ValueError, match=f"files is {files}"):
            write(stream(10), tmp_path, files)
    assert list(tmp_path.iterdir()) == []


def test_a_file_has_row_groups_that_readers_can_share(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("generators.replay.ROW_GROUP", 300)
    (path,) = write(stream(1000), tmp_path / "out", 1)
    file = pq.ParquetFile(path)
    assert [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)] == [300, 300, 300, 100]


@pytest.mark.parametrize("format", ["parquet", "json"])
def test_a_stream_keeps_every_value_in_its_files(tmp_path: Path, format) -> None:
    values = [1.23456789e-12, 5.678e-15, 1 / 3, 1.7976931348623157e308, 2.0]
    ids = [2**53 + n for n in range(5)]
    (path,) = write(pa.table({"id": ids, "value": values}), tmp_path, 1, format)
    found = read([path], pa.schema({"id": pa.int64(), "value": pa.float64()}))
    assert [value.hex() for value in found["value"].to_pylist()] == [value.hex() for value in values]
    assert found["id"].to_pylist() == ids


def test_a_type_that_json_has_not_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="column shape is of type binary, which JSON has not"):
        write(pa.table({"shape": [b"\1"]}), tmp_path / "out", 1, "json")
    assert not (tmp_path / "out").exists()


def test_int96_times_of_a_source_do_not_wrap(tmp_path: Path) -> None:
    event, arrival = (pa.array([datetime(year, 1, 1, tzinfo=UTC)], pa.timestamp("us", "UTC")) for year in (1600, 9999))
    table, path = pa.table({"event": event, "arrival": arrival}), tmp_path / "a.parquet"
    pq.write_table(table, path, use_deprecated_int96_timestamps=True)
    assert [epoch_ms(column) for column in read_source(path).columns] == [epoch_ms(column) for column in table.columns]
    (delay,) = delay_model(f"data:{path}:event:arrival").sample(1, np.random.default_rng(0))
    assert delay == epoch_ms(table["arrival"]) - epoch_ms(table["event"])
