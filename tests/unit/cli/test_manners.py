"""Manners of the command line: its version, the warehouse of the environment, URLs."""

from __future__ import annotations

from pathlib import Path

from tailrace import __version__

ROOT = Path(__file__).parents[3]
FLIGHTS = ROOT / "include" / "queries" / "flights.yaml"


def test_the_version_is_printed(tailrace):
    assert tailrace("--version").stdout == f"tailrace {__version__}\n"


def test_the_warehouse_of_the_environment_is_the_default(tailrace, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("TAILRACE_WAREHOUSE", str(tmp_path / "file"))
    assert f"{tmp_path / 'file'}: it is a file" in tailrace("results", FLIGHTS, code=2).stderr
    tailrace("results", FLIGHTS, "--warehouse", tmp_path / "other")  # is taken before that of the environment
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


def test_an_input_lies_under_the_roots_of_sources(tailrace, monkeypatch, tmp_path):
    monkeypatch.setenv("TAILRACE_SOURCES", str(ROOT))
    output = tailrace("run", FLIGHTS, "--warehouse", tmp_path, "--input", f"departures={tmp_path}", code=2)
    assert "lies under no root of sources" in output.stderr
    assert list(tmp_path.iterdir()) == []
