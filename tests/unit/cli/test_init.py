"""The commands init and new: files that are new and valid, questions on a terminal alone, the worst first."""

from __future__ import annotations

import json
import re
import shlex

import pytest
import typer

from tailrace.advice import proposal
from tailrace.advice.proposal import propose
from tailrace.advice.templates import TEMPLATES
from tailrace.cli import init as command
from tailrace.kinds import KINDS
from tailrace.query.loading import load
from tailrace.sources.kafka.kafka_source import KafkaSource
from tailrace.sources.segments import Segment

LOCAL = """when,sensor,speed
2024-03-14 10:00:00,a,1.5
2024-03-14 10:00:10,b,2.5
2024-03-14 10:00:05,a,3.5
"""


@pytest.fixture
def directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my file.csv").write_text(LOCAL)
    return tmp_path


def test_what_init_prints_last_is_what_works_next(tailrace, directory):
    output = tailrace("init", "my file.csv", "--output", "the query.yaml").stdout
    assert output.startswith("attention: the times state no zone, and the file takes them for UTC, marked ASSUMED")
    assert output.isprintable() or "\n" in output
    commands = re.findall(r"^  tailrace (.*)$", output, re.MULTILINE)
    assert len(commands) == 2
    run, results = (tailrace(*shlex.split(line)) for line in commands)
    assert "read 3 records: 3 accepted, 0 rejected" in run.stderr
    assert "2024-03-14T10:00:00.000Z" in results.stdout


@pytest.mark.parametrize("arguments", [("init", "my file.csv"), ("init", "--kind", "topk"), ("new", "topk")])
def test_no_file_is_ever_replaced(tailrace, directory, arguments):
    (directory / "query.yaml").write_text("mine")
    refused = tailrace(*arguments, "--output", "query.yaml", code=2).stderr
    assert "is there already" in refused
    assert (directory / "query.yaml").read_text() == "mine"


def test_a_file_that_comes_meanwhile_is_not_replaced(tailrace, directory, monkeypatch):
    def propose_slowly(*arguments):
        (directory / "query.yaml").write_text("mine")
        return propose(*arguments)

    monkeypatch.setattr(proposal, "propose", propose_slowly)
    assert "is there already" in tailrace("init", "my file.csv", code=2).stderr
    assert (directory / "query.yaml").read_text() == "mine"


def test_nothing_is_written_where_the_sample_is_refused(tailrace, directory):
    assert "Europe/Berlin" in tailrace("init", "my file.csv", "--timezone", "Europe/Berlim", code=2).stderr
    assert "a URL" in tailrace("init", "s3://bucket/a.csv", code=2).stderr
    assert "it is missing" in tailrace("init", code=2).stderr
    assert not (directory / "query.yaml").exists()


def test_without_a_terminal_nothing_is_asked(tailrace, directory, monkeypatch):
    monkeypatch.setattr(typer, "prompt", lambda *_, **__: pytest.fail("it asked"))
    assert "ASSUMED" in tailrace("init", "my file.csv").stdout
    (directory / "days.csv").write_text("when,v\n03/04/2024 10:00,1\n05/04/2024 11:00,2\n")
    assert "--date-order day" in tailrace("init", "days.csv", "--output", "days.yaml", code=2).stderr


def test_on_a_terminal_zone_and_order_are_asked(tailrace, directory, monkeypatch):
    answers = {"what stands first": "month", "the zone": "Asia/Tokyo"}
    monkeypatch.setattr(command, "is_interactive", lambda: True)
    monkeypatch.setattr(
        typer, "prompt", lambda text, **_: next(answers[start] for start in answers if text.startswith(start))
    )
    (directory / "days.csv").write_text("when,v\n03/04/2024 10:00,1\n05/04/2024 11:00,2\n")
    tailrace("init", "days.csv")
    assert load(directory / "query.yaml").streams["records"].timezone == "Asia/Tokyo"
    assert "split_part(trim(`when`), '/', 1), 2, '0'), '-'" in (directory / "query.yaml").read_text()


@pytest.mark.parametrize("place", ["kafka://events_main/readings", "kafka://broker:9092/readings"])
def test_a_topic_brings_id_and_arrival_time(tailrace, directory, monkeypatch, place):
    records = [json.dumps({"at": f"2024-03-14T10:00:0{n}Z", "sensor": "ab"[n % 2], "speed": n / 2}) for n in range(4)]

    class Topic:
        def fresh(self):
            return [Segment("readings", 0, len(records))]

    class Reader:
        def records(self, segment, rows):
            return [records[row] for row in rows]

    monkeypatch.setattr(KafkaSource, "open", lambda self, opening: Topic())
    monkeypatch.setattr(KafkaSource, "reader", lambda self, columns: Reader())
    sample = command._sample(place, None)
    assert sample.own == {"id", "arrival_time"}
    assert sample.table.column_names == ["at", "sensor", "speed"]
    assert sample.source["topic"] == "readings"
    assert ("servers" in sample.source) == (":" in place.removeprefix("kafka://"))


def test_each_kind_has_a_template_that_is_valid(tailrace, directory):
    assert TEMPLATES.keys() == KINDS.keys() == {kind.value for kind in command.KindName}
    for kind in KINDS:
        tailrace("new", kind)
        assert "no fault found" in tailrace("validate", f"{kind}.yaml").stdout
        assert load(directory / f"{kind}.yaml").kind == kind
        assert "YOURS" in (directory / f"{kind}.yaml").read_text()


def test_a_file_with_semicolons_and_decimal_commas_is_summed(tailrace, directory):
    (directory / "betrag.csv").write_text(
        "Zeit;Ort;Betrag\n2024-03-14T10:00:00Z;Köln;1,50\n2024-03-14T10:00:01Z;Bonn, Mitte;-2,25\n"
        "2024-03-14T10:00:01Z;Bonn, Mitte;3\n"
    )
    output = tailrace("init", "betrag.csv").stdout
    run, results = re.findall(r"^  tailrace (.*)$", output, re.MULTILINE)
    tailrace(*shlex.split(run))
    rows = tailrace(*shlex.split(results), "--format", "jsonl").stdout.splitlines()
    assert {(row["key"], row["total"]) for row in map(json.loads, rows)} == {("Köln", "1.50"), ("Bonn, Mitte", "0.75")}
