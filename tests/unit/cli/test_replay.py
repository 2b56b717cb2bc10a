"""`tailrace replay`: what it says about the files it wrote, and which brokers get the password of its connection."""

from __future__ import annotations

import json

import pytest

from impostor import Impostor

PASSWORD = "hunter2"


@pytest.fixture
def connection(monkeypatch):
    """A connection with a password, and brokers of its own."""
    extra = {"bootstrap.servers": "127.0.0.1:1", "security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"}
    declared = {"login": "me", "password": PASSWORD, "extra": extra}
    monkeypatch.setenv("AIRFLOW_CONN_PROD_KAFKA", json.dumps(declared))
    return "prod_kafka"


def test_replay_sends_nothing_to_servers_that_its_connection_does_not_have(tailrace, connection):
    with Impostor() as impostor:
        place = f"{impostor.address}/readings"
        output = tailrace("replay", "--kafka", place, "--connection", connection, "--rows", 3, code=2)
    assert f"{impostor.address} is none of its brokers" in output.stderr
    assert PASSWORD not in output.stderr
    assert not impostor.is_asked.is_set()


def test_a_topic_alone_needs_a_connection_that_has_its_brokers(tailrace):
    output = tailrace("replay", "--kafka", "readings", "--rows", 3, code=2)
    assert "it names no servers, and there is no --connection that has them" in output.stderr


def test_replay_says_what_is_in_which_file(tailrace, tmp_path):
    output = tailrace("replay", "--output", tmp_path / "out", "--rows", 3)
    assert output.stderr.splitlines() == [
        *(f"part-0000{number}.parquet: 1 row" for number in range(3)),
        f"wrote 3 rows in 3 files to {tmp_path / 'out'}",
    ]
    assert len([*(tmp_path / "out").iterdir()]) == 3
