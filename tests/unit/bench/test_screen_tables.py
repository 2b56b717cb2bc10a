"""Tables of measurements on the terminal: they fit 80 columns, and the ratios are among what is shown."""

from __future__ import annotations

import pytest

from bench.screen_tables import in_order, print_tables
from bench.side_by_side import summary, tables
from tailrace.terminal import tables as terminal

RATES = {"native": [1.1e6, 1.2e6, 1.3e6], "tailrace": [2.1e6, 2.2e6, 2.3e6], "pass-through": [5e6, 6e6, 7e6]}
PASSES = [
    {"case": case, "contestant": name, "round": number, "whole_rows_s": rate, "warm_rows_s": 2 * rate}
    | {"cpu_us_a_row": 1.25, "driver_mib": 1234, "jvm_mib": 2345, "workers_mib": 345}
    for case in ("dense 500/100 ms", "at once 60/5 s")
    for name, rates in RATES.items()
    for number, rate in enumerate(rates)
]
JOIN = {"join": "interval", "tasks": 2, "method": "indexed", "tuples/s": 123_456.0, "warm tuples/s": 234_567.0}
JOIN |= {"batches": 12, "longest batch s": 1.5, "CPU s": 12.5, "× native": 12.5, "warm × native": 25.0}


@pytest.fixture(autouse=True)
def _narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal.out, "width", 80)


def test_each_case_is_a_table_whose_ratios_are_shown_in_80_columns(capsys):
    print_tables(tables(summary(PASSES)), wide=False)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert [line for line in lines if line in ("dense 500/100 ms", "at once 60/5 s")] == [
        "dense 500/100 ms",
        "at once 60/5 s",
    ]
    assert len(lines) == 2 * (1 + 3 + len(RATES) + 1 + 1), "no cell is broken"
    heads = next(line for line in lines if "contestant" in line)
    assert [head.strip() for head in heads.strip("┃").split("┃")][:3] == [
        "contestant",
        "whole × native",
        "warm × native",
    ]
    assert "--wide shows also" in lines[-1]


def test_wide_tables_have_a_unit_a_column(capsys):
    print_tables(tables(summary(PASSES)), wide=True)
    output = capsys.readouterr().out
    assert all(head in output for head in ("rows/s", "CPU µs/row", "driver MiB", "JVM MiB", "workers MiB"))
    assert "--wide" not in output


def test_ratios_stand_between_settings_and_figures(capsys):
    assert in_order(JOIN)[:5] == ["join", "tasks", "method", "× native", "warm × native"]
    assert in_order(JOIN)[5:] == ["tuples/s", "warm tuples/s", "batches", "longest batch s", "CPU s"]
    print_tables({"spark": [JOIN], "nobody": []}, wide=False)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "spark"
    assert "nobody" not in lines
    assert max(map(len, lines)) <= 80
