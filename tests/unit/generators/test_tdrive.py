"""The loader of T-Drive, on lines in its format, against a reader that takes one line at a time."""

from __future__ import annotations

import gzip
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkout_commands import DEV
from generators import tdrive
from generators.delays import epoch_ms
from generators.fixes import SCHEMA
from generators.tdrive import RejectedLine, read
from tailrace.cli.commands import main
from tailrace.ground.errors import Refused

FIRST = "1,2008-02-02 15:36:08,116.51172,39.92123"
SECOND = "1,2008-02-02 15:46:08,116.51135,39.93883"
OTHER = "10357,2008-02-02 15:36:08,0.00000,0.00000"


def write(path: Path, *lines: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def one_by_one(lines: list[str]) -> list[dict[str, object]]:
    """The tuples of lines that all hold a fix, in order of event time."""
    rows: list[dict[str, object]] = []
    for line in lines:
        taxi, time, lon, lat = line.split(",")
        at = datetime.fromisoformat(time).replace(tzinfo=ZoneInfo("Asia/Shanghai"))
        number = sum(row["taxi"] == int(taxi) for row in rows)
        row = {"event_time": at, "arrival_time": at, "id": f"{taxi}-{number:06d}"}
        rows.append(row | {"taxi": int(taxi), "lon": float(lon), "lat": float(lat)})
    return sorted(rows, key=lambda row: row["event_time"])


def test_lines_of_many_taxis_in_one_file(tmp_path: Path) -> None:
    table, rejected, listed = read(write(tmp_path / "all.txt", SECOND, FIRST, OTHER))
    assert table.schema == SCHEMA
    assert (rejected, listed) == (0, ())
    assert table.to_pylist() == one_by_one([SECOND, FIRST, OTHER])
    # 15:36:08 in Beijing is 07:36:08 UTC.
    assert epoch_ms(table["event_time"]).tolist() == [1_201_937_768_000, 1_201_937_768_000, 1_201_938_368_000]
    assert table["id"].to_pylist() == ["1-000001", "10357-000000", "1-000000"]


def test_duplicates_stay_with_ids_of_their_own(tmp_path: Path) -> None:
    table = read(write(tmp_path / "1.txt", FIRST, FIRST, FIRST)).table
    assert table["id"].to_pylist() == ["1-000000", "1-000001", "1-000002"]
    assert len(set(zip(*(table[name].to_pylist() for name in ("event_time", "lon", "lat")), strict=True))) == 1


def test_the_files_of_a_directory_are_read_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    write(tmp_path / "log" / "10.txt", FIRST.replace("1,", "10,", 1))
    write(tmp_path / "log" / "9.txt", FIRST.replace("1,", "9,", 1))
    write(tmp_path / "log" / "11.txt")  # of a taxi without fixes
    write(tmp_path / "guide.pdf", "no data")
    (tmp_path / "directory.txt").mkdir()
    (tmp_path / "log" / "12.txt.gz").write_bytes(gzip.compress(FIRST.encode()))
    assert read(tmp_path).table["taxi"].to_pylist() == [9, 10, 1]


def test_numbers_go_on_from_file_to_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tdrive, "ROWS", 2)
    write(tmp_path / "a.txt", FIRST, OTHER)
    write(tmp_path / "b.txt", SECOND, SECOND)
    table = read(tmp_path).table
    assert table["id"].num_chunks == 2
    assert table["id"].to_pylist() == ["1-000000", "10357-000000", "1-000001", "1-000002"]


BAD = {
    "1,2008-02-02 15:36:08,116.51172": "it has 3 fields, not 4",
    f"{FIRST},1": "it has 5 fields, not 4",
    "x1,2008-02-02 15:36:08,116.5,39.9": "'x1' is no taxi",
    "1234567890,2008-02-02 15:36:08,116.5,39.9": "'1234567890' is no taxi",
    "1,2008-02-02T15:36:08,116.5,39.9": "'2008-02-02T15:36:08' is no time",
    "1,2008-13-02 15:36:08,116.5,39.9": "'2008-13-02 15:36:08' is no time",
    "1,2008-02-02 24:36:08,116.5,39.9": "'2008-02-02 24:36:08' is no time",
    "1,2008-02-02 15:36:60,116.5,39.9": "'2008-02-02 15:36:60' is no time",
    "1,2008-02-30 15:36:08,116.5,39.9": "'2008-02-30 15:36:08' is no day of the calendar",
    "1,2008-02-02 15:36:08,nan,39.9": "'nan' is no lon",
    "1,2008-02-02 15:36:08,116.5,inf": "'inf' is no lat",
    "1,2008-02-02 15:36:08,,39.9": "'' is no lon",
}


@pytest.mark.parametrize("bad", BAD)
def test_a_bad_line_is_kept_out_with_its_place_and_the_reason(tmp_path: Path, bad: str) -> None:
    path = write(tmp_path / "1.txt", FIRST, "", bad, "  ", SECOND)
    table, rejected, listed = read(path)
    assert table.to_pylist() == one_by_one([FIRST, SECOND])
    assert rejected == 1
    assert listed == (RejectedLine(path, 3, BAD[bad]),)


def test_lines_count_over_blocks_and_files_and_the_list_is_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tdrive, "BLOCK", 100)
    monkeypatch.setattr(tdrive, "LISTED", 3)
    first = write(tmp_path / "a.txt", *[FIRST] * 50, "bad", *[FIRST] * 50, "bad")
    second = write(tmp_path / "b.txt", "bad", FIRST, "bad")
    table, rejected, listed = read(tmp_path)
    assert (table.num_rows, rejected) == (101, 4)
    assert [(row.file, row.line) for row in listed] == [(first, 51), (first, 102), (second, 1)]


def test_spaces_other_ends_of_lines_and_broken_characters(tmp_path: Path) -> None:
    path = tmp_path / "1.txt"
    path.write_bytes(b" 1 , 2008-02-02 15:36:08 , 116.51172 , 39.92123 \r\n\xff\xfe,1,2,3\r\n" + SECOND.encode())
    table, rejected, listed = read(path)
    assert table.to_pylist() == one_by_one([FIRST, SECOND])
    assert (rejected, listed[0].line) == (1, 2)


def test_a_file_of_another_format_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "1.txt", "vendor,pickup,x,y", "2,3,4,5")
    with pytest.raises(Refused, match=r"1\.txt:1: 'vendor' is no taxi, and no other line holds a fix"):
        read(path)


def test_missing_files_are_refused_and_an_empty_one_is_not(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="there is no such file"):
        read(tmp_path / "away")
    with pytest.raises(Refused, match="no text files"):
        read(tmp_path)
    assert read(write(tmp_path / "1.txt")).table.equals(SCHEMA.empty_table())


degrees = st.integers(-(10**8), 10**8).map(lambda units: f"{units / 10**5:.5f}")
times = st.datetimes(datetime(1995, 1, 1), datetime(2030, 1, 1)).map(lambda at: f"{at:%Y-%m-%d %H:%M:%S}")


@given(st.lists(st.tuples(st.integers(0, 3).map(str), times, degrees, degrees).map(",".join), max_size=30))
def test_it_reads_what_a_reader_of_single_lines_does(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str]
) -> None:
    path = write(tmp_path_factory.mktemp("tdrive") / "all.txt", *lines)
    assert read(path).table.to_pylist() == one_by_one(lines)


def test_replay_reads_the_format(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    start = datetime(2008, 2, 2)
    lines = [FIRST.replace("2008-02-02 15:36:08", f"{start + timedelta(seconds=i)}") for i in range(200)]
    write(tmp_path / "log" / "1.txt", *lines, "bad")
    arguments = ["replay", "--source", str(tmp_path / "log"), "--source-format", "tdrive", "--model", "exponential:6 s"]
    monkeypatch.setattr("sys.argv", ["dev", *arguments, "--output", str(tmp_path / "out"), "--files", "2"])
    with pytest.raises(SystemExit) as exit_info:
        main(program=DEV)
    assert not exit_info.value.code
    table = pa.concat_tables(pq.read_table(path) for path in sorted((tmp_path / "out").iterdir()))
    assert table.schema == SCHEMA
    assert sorted(table["id"].to_pylist()) == [f"1-{i:06d}" for i in range(200)]
    event, arrival = (epoch_ms(table[name]) for name in ("event_time", "arrival_time"))
    assert arrival.tolist() == sorted(arrival)
    assert event.tolist() != sorted(event)
    message = capsys.readouterr().err
    assert "lines that hold no fix, kept out: 1" in message
    assert f"{tmp_path / 'log' / '1.txt'}:201: it has 1 fields, not 4" in message
