"""The loader of the football match of DEBS 2013, on rows in its format."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from checkout_commands import DEV
from generators.debs2013 import read
from generators.delays import epoch_ms
from generators.replay import TIME
from tailrace.cli.commands import main
from tailrace.ground.errors import Refused

KICK_OFF = 1_767_225_600_000
SHOE = "98,10629342490369879,26406,-6869,1070,1166235,7161971,-5706,3485,-7435,-2410,-8454,-4765"
BALL = "4,10753295594424116,50125,101,8,0,0,0,0,0,10000,0,0"
LATER = "67,10753298094424116,26183,5119,-275,2316086,15000001,9998,-100,0,0,-10000,1"


def match(tmp_path: Path, *rows: str) -> Path:
    path = tmp_path / "full-game.csv"
    path.write_text("".join(f"{row}\n" for row in rows))
    return path


def test_rows_of_the_match(tmp_path):
    table = read(match(tmp_path, SHOE, BALL, LATER), KICK_OFF)
    small, vector = pa.int32(), pa.int16()
    assert {field.name: field.type for field in table.schema} == {
        "id": pa.int64(),
        "event_time": TIME,
        "sensor": small,
        **dict.fromkeys(("x", "y", "z"), small),
        **dict.fromkeys(("speed", "acceleration"), pa.float64()),
        **dict.fromkeys(("vx", "vy", "vz", "ax", "ay", "az"), vector),
    }
    shoe, ball, later = table.to_pylist()
    # 10629342490369879 − 10753295594424116 ps = −123.953104… s: two minutes before the kick-off, floored.
    assert epoch_ms(table["event_time"]).tolist() == [KICK_OFF - 123_954, KICK_OFF, KICK_OFF + 2]
    assert [row["id"] for row in (shoe, ball, later)] == [0, 1, 2]
    assert [row["sensor"] for row in (shoe, ball, later)] == [98, 4, 67]
    assert (shoe["x"], shoe["y"], shoe["z"]) == (26406, -6869, 1070)
    assert (shoe["speed"], shoe["acceleration"]) == (1.166235, 7.161971)
    assert [later[name] for name in ("vx", "vy", "vz", "ax", "ay", "az")] == [9998, -100, 0, 0, -10000, 1]


def test_ids_are_consecutive_over_the_blocks_of_a_file(tmp_path, monkeypatch):
    monkeypatch.setattr("generators.debs2013.BLOCK", 1000)
    table = read(match(tmp_path, *[SHOE, BALL] * 500), KICK_OFF)
    assert table["id"].num_chunks > 1
    assert table["id"].to_pylist() == list(range(1000))
    assert table["sensor"].to_pylist() == [98, 4] * 500


def test_a_compressed_file_is_read(tmp_path):
    path = tmp_path / "full-game.csv.gz"
    path.write_bytes(gzip.compress(f"{SHOE}\n{BALL}\n".encode()))
    assert read(path, KICK_OFF)["sensor"].to_pylist() == [98, 4]
    path.write_bytes(gzip.compress(f"{SHOE}\n{BALL},1\n".encode()))
    with pytest.raises(Refused, match=r"csv\.gz:2: it has 14 fields"):
        read(path, KICK_OFF)


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (SHOE.replace("-6869", "far"), "4: y: 'far' is none"),
        (SHOE.replace("-6869", ""), "4: y: '' is none"),
        (SHOE.replace("1166235", "1.5"), r"4: \|v\|: '1.5' is none"),
        (SHOE.replace("-5706", "40000"), "4: vx: '40000' is none\n.*right would be: an integer from -32,768 to 32,767"),
        (SHOE.replace("10629342490369879", "10" * 12), "4: ts: "),
        (SHOE.removesuffix(",-4765"), "4: it has 12 fields\n.*right would be: 13 fields: sid,ts,x,y,z"),
    ],
)
@pytest.mark.parametrize("before", [1, 10_000])
def test_a_broken_row_is_refused_with_its_line_and_field(tmp_path, monkeypatch, broken, message, before):
    monkeypatch.setattr("generators.debs2013.BLOCK", 100_000)
    path = match(tmp_path, *[SHOE] * before, "", BALL, broken, "nonsense")
    with pytest.raises(Refused, match=message.replace("4:", f"{before + 3}:", 1)):
        read(path, KICK_OFF)


def test_a_file_without_rows_is_refused(tmp_path):
    with pytest.raises(ValueError, match="Empty"):
        read(match(tmp_path), KICK_OFF)


def test_replay_reads_the_format(tmp_path, monkeypatch):
    """200 rows of one second are delayed by the model and written to Parquet files in order of arrival."""
    rows = [BALL.replace("10753295594424116", str(10753295594424116 + i * 5 * 10**9)) for i in range(200)]
    arguments = ["replay", "--source", str(match(tmp_path, *rows)), "--source-format", "debs2013"]
    arguments += ["--start", "2026-01-01", "--model", "game2", "--output", str(tmp_path / "out"), "--files", "2"]
    monkeypatch.setattr("sys.argv", ["dev", *arguments])
    with pytest.raises(SystemExit) as exit_info:
        main(program=DEV)
    assert not exit_info.value.code
    table = pa.concat_tables(pq.read_table(path) for path in sorted((tmp_path / "out").iterdir()))
    assert sorted(table["id"].to_pylist()) == list(range(200))
    event, arrival = (epoch_ms(table[name]) for name in ("event_time", "arrival_time"))
    assert event.tolist() == [KICK_OFF + 5 * i for i in table["id"].to_pylist()]
    assert (np.diff(arrival) >= 0).all()
    assert (arrival > event).any()
    assert (np.diff(event) < 0).any()
