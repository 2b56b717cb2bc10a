"""Reports: parts measured alone, and pages that follow from their JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.report import Effort, Measured, Plot, Report
from bench.verdicts import Claim, Outcome, Verdict
from tailrace.ground.errors import Refused

RESULTS = Path(__file__).parents[3] / "docs" / "results"
SYSTEMS = ("emd", "topk", "aggregate", "spatial")
EFFORT = Effort(1000, 2, 3, flink=Path("flink"))
TEMPLATE = "{verdicts}\n\n{many:,} rows\n\n{fast}\n\n{slow}\n\n{measured}\n"


def quiet(line: str) -> None:
    """Print nothing."""


def draw(*rows_and_file) -> None:
    *rows, file = rows_and_file
    file.write_text(json.dumps(rows))


@pytest.fixture
def report(tmp_path):
    """A report of two parts, a plot of both tables, and one that is drawn while the second part is measured."""
    (tmp_path / "template.md").write_text(TEMPLATE)
    claim = Claim("Fig. 1", "it is fast", lambda tables: Verdict(str(tables["fast"][0]["s"]), Outcome.CONFIRMED))
    parts = {
        "fast": lambda effort, echo: Measured({"fast": [{"s": effort.rounds}]}, {"many": effort.rows}),
        "slow": lambda effort, echo: Measured({"slow": [{"s": 9}]}, plots={"own": draw}),
    }
    return Report("009", "topk", tmp_path / "template.md", parts, [Plot("both", ["fast", "slow"], draw)], [claim])


def test_a_part_is_measured_alone_and_the_others_stay(report, tmp_path):
    page = report.write(tmp_path / "out", EFFORT, quiet)
    before = json.loads(page.with_suffix(".json").read_text())
    report.write(tmp_path / "out", Effort(5, 2, 7), quiet, ["fast"])
    after, text = json.loads(page.with_suffix(".json").read_text()), page.read_text()
    assert (after["fast"], after["slow"]) == ([{"s": 7}], before["slow"])
    whole = "tools/dev.py bench topk --rows 1000 --files 2 --rounds 3 --flink DIR --report docs/results"
    alone = "tools/dev.py bench topk --rows 5 --files 2 --rounds 7 --report docs/results --only fast"
    assert [(row["part"], row["command"]) for row in after["measured"]] == [("fast", alone), ("slow", whole)]
    assert "5 rows" in text
    assert f"| `{alone}` |" in text
    assert "| Fig. 1 | it is fast | 7 |" in text
    assert json.loads((tmp_path / "out/009-both.png").read_text()) == [[{"s": 7}], [{"s": 9}]]
    assert (tmp_path / "out/009-own.png").exists()


def test_the_parts_of_one_command_share_a_row(report, tmp_path):
    text = report.write(tmp_path, EFFORT, quiet).read_text()
    assert text.count("tools/dev.py bench topk") == 1
    assert "| fast, slow |" in text


def test_what_was_never_measured_says_so(report, tmp_path):
    text = report.write(tmp_path, EFFORT, quiet, ["slow"]).read_text()
    assert "(not measured) rows" in text
    assert "this run did not measure it" in text
    assert not (tmp_path / "009-both.png").exists()


def test_what_was_measured_stays_when_a_later_part_fails(report, tmp_path):
    def fail(effort, echo):
        raise RuntimeError("no broker")

    with pytest.raises(RuntimeError, match="no broker"):
        Report(**{**vars(report), "parts": report.parts | {"slow": fail}}).write(tmp_path, EFFORT, quiet)
    assert json.loads((tmp_path / "009.json").read_text())["fast"] == [{"s": 3}]


def test_an_unknown_part_is_refused_before_anything_is_measured(report, tmp_path):
    with pytest.raises(Refused, match=r"--only fsat: it is no part of topk\n.*fast, slow"):
        report.write(tmp_path / "out", EFFORT, quiet, ["slow", "fsat"])
    assert not (tmp_path / "out").exists()
