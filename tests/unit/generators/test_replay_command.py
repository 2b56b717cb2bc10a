"""`tools/dev.py replay`: its messages about files, and which brokers get the password of its connection."""

from __future__ import annotations

import json

import pytest

from kit.fakes.impostor import Impostor

PASSWORD = "hunter2"


@pytest.fixture
def connection(monkeypatch):
    """A connection with a password, and brokers of its own."""
    extra = {"bootstrap.servers": "127.0.0.1:1", "security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"}
    declared = {"login": "me", "password": PASSWORD, "extra": extra}
    monkeypatch.setenv("AIRFLOW_CONN_PROD_KAFKA", json.dumps(declared))
    return "prod_kafka"


def test_replay_sends_nothing_to_servers_that_its_connection_does_not_have(dev, connection):
    with Impostor() as impostor:
        place = f"{impostor.address}/readings"
        output = dev("replay", "--kafka", place, "--connection", connection, "--rows", 3, code=2)
    assert f"{impostor.address} is none of its brokers" in output.stderr
    assert PASSWORD not in output.stderr
    assert not impostor.is_asked.is_set()


def test_a_topic_alone_needs_a_connection_that_has_its_brokers(dev):
    output = dev("replay", "--kafka", "readings", "--rows", 3, code=2)
    assert "it names no servers, and there is no --connection that has them" in output.stderr


def test_replay_says_what_is_in_which_file(dev, tmp_path):
    output = dev("replay", "--output", tmp_path / "out", "--rows", 3)
    assert output.stderr.splitlines() == [
        *(f"part-0000{number}.parquet: 1 row" for number in range(3)),
        f"wrote 3 rows in 3 files to {tmp_path / 'out'}",
    ]
    assert len([*(tmp_path / "out").iterdir()]) == 3


def test_replay_writes_a_stream(dev, tmp_path):
    dev("replay", "--output", tmp_path / "a", "--rows", 1000, "--files", 3)
    dev("replay", "--output", tmp_path / "b", "--rows", 1000, "--files", 3, "--format", "json")
    assert [file.name for file in sorted((tmp_path / "a").iterdir())] == [f"part-0000{i}.parquet" for i in range(3)]
    first = json.loads((tmp_path / "b" / "part-00000.json").read_text().splitlines()[0])
    assert set(first) == {"id", "event_time", "arrival_time", "sensor", "value"}
    refusal = dev("replay", "--output", tmp_path / "a", "--rows", 1000, code=2)
    assert "not empty" in refusal.stderr


@pytest.mark.parametrize(
    ("option", "value", "fragment"), [("--model", "game3", "game3"), ("--rows", "-1", "rows is -1")]
)
def test_a_wrong_option_is_refused_and_nothing_is_written(dev, tmp_path, option, value, fragment):
    assert fragment in dev("replay", "--output", tmp_path / "out", option, value, code=2).stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "words",
    [
        ("replay", "--output", "URL"),
        ("replay", "--output", "in", "--source", "URL"),
        ("frames", "URL", "--output", "in"),
        ("frames", "film.mp4", "--output", "URL"),
    ],
    ids=" ".join,
)
def test_a_url_is_no_path_of_this_machine(dev, monkeypatch, tmp_path, words):
    monkeypatch.chdir(tmp_path)
    told = dev(*("s3://bucket/x" if word == "URL" else word for word in words), code=2).stderr
    assert "s3://bucket/x: it is a URL" in " ".join(told.split())
    assert list(tmp_path.iterdir()) == []
