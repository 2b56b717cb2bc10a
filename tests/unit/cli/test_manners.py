"""Manners of the command line: its version, the warehouse of the environment, URLs."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from tailrace import __version__
from tailrace.api import explanation as explained
from tailrace.api import reading
from tailrace.terminal import screen

ROOT = Path(__file__).parents[3]
FLIGHTS = ROOT / "include" / "queries" / "flights.yaml"


def test_the_version_is_printed(tailrace):
    assert tailrace("--version").stdout == f"tailrace {__version__}\n"


def test_the_warehouse_of_the_environment_is_the_default(tailrace, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("TAILRACE_WAREHOUSE", str(tmp_path / "file"))
    assert f"{tmp_path / 'file'}: it is a file" in tailrace("results", FLIGHTS, code=2).stderr
    other = tailrace("results", FLIGHTS, "--warehouse", tmp_path / "other", code=2).stderr
    assert (
        f"{tmp_path / 'other' / 'flights'}: the query has never run" in other
    )  # is taken before that of the environment
    monkeypatch.delenv("TAILRACE_WAREHOUSE")
    assert "--warehouse" in tailrace("results", FLIGHTS, code=2).stderr


def test_a_url_of_no_object_store_is_no_warehouse(tailrace):
    told = tailrace("results", FLIGHTS, "--warehouse", "https://bucket/tables", code=2).stderr
    assert "https://bucket/tables: it is a URL, but none of an object store" in told
    assert "s3://bucket/warehouse" in told


def test_a_url_is_no_input(tailrace, tmp_path):
    output = tailrace("run", FLIGHTS, "--warehouse", tmp_path, "--input", "departures=s3://bucket/in", code=2)
    assert "it is a URL" in output.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "words",
    [
        ("validate", "URL"),
        ("run", "URL", "--warehouse", "tables"),
        ("results", FLIGHTS, "--warehouse", "tables", "--output", "URL"),
        ("quality", FLIGHTS, "--warehouse", "tables", "--output", "URL"),
        ("schema", "--output", "URL"),
        ("serve", "URL"),
    ],
    ids=lambda words: " ".join(map(str, words[:1] + words[-2:])),
)
def test_a_url_is_no_path_of_this_machine(tailrace, monkeypatch, tmp_path, words):
    monkeypatch.chdir(tmp_path)
    for url in ("s3://bucket/x", "file:///tmp/x"):
        told = tailrace(*(url if word == "URL" else word for word in words), code=2).stderr
        assert f"{url}: it is a URL" in " ".join(told.split())
        assert "a file or a directory of this machine" in told
    assert list(tmp_path.iterdir()) == []


def test_an_input_lies_under_the_roots_of_sources(tailrace, monkeypatch, tmp_path):
    monkeypatch.setenv("TAILRACE_SOURCES", str(ROOT))
    output = tailrace("run", FLIGHTS, "--warehouse", tmp_path, "--input", f"departures={tmp_path}", code=2)
    assert "lies under no root of sources" in output.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def narrow(monkeypatch):
    """A terminal of 80 columns."""
    monkeypatch.setattr(screen.out, "width", 80)


def test_the_table_of_quality_shows_in_80_columns_what_was_measured_and_promised(tailrace, monkeypatch, narrow):
    row = {"bucket_start": 0, "bucket_end": 10_000, "answers": 1000, "corrected": 1000, "missing": 7, "off": 123}
    row |= {"share": 0.123456, "mean_error": 0.0633986, "worst_error": 2.93846, "mean_k_ms": 3_600_000.0}
    rows = pa.Table.from_pylist([row | {"error": 0.05, "risk": 0.1, "accuracy": None}])
    monkeypatch.setattr(reading, "read_quality", lambda query, warehouse: (rows, rows.column_names))
    lines = tailrace("quality", FLIGHTS, "--warehouse", "w").stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[1].replace("┃", "").split() == ["bucket_start", "answers", "share", "mean_error", "error", "risk"]
    assert len(lines) == 3 + 1 + 1 + 2, "no cell is broken, and what is left out goes on in a second line"
    told = tailrace("quality", FLIGHTS, "--warehouse", "w", "--format", "csv").stdout
    assert told.splitlines()[0] == ",".join(f'"{name}"' for name in rows.column_names)


def test_what_explains_a_query_is_folded_beside_its_name(tailrace, monkeypatch, narrow):
    reason = "tuples are combined before they go to the tasks, " * 3 + "/a-path/that-is/" + "long" * 20
    monkeypatch.setattr(explained, "explanation", lambda query: {"query": "flights", "why": reason})
    monkeypatch.setattr(explained, "forms", lambda query: {})
    first, *folded = tailrace("explain", FLIGHTS).stdout.splitlines()
    assert first == "query  flights"
    assert folded[0].startswith("why    tuples are")
    assert all(line.startswith(" " * 7) for line in folded[1:])
    assert [len(line) <= 80 for line in folded] == [True] * (len(folded) - 1) + [False], "a path stays whole"
    assert "".join(folded)[7:].replace(" ", "") == reason.replace(" ", "")
