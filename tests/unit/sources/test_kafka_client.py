"""Settings of a Kafka client: secrets come from the environment alone, and appear nowhere else."""

from __future__ import annotations

import json

import pytest

from tailrace.ground.errors import Refused
from tailrace.sources.kafka.kafka_servers import Servers

SECRET = "hunter2"


def test_a_connection_gives_its_settings_and_its_login(monkeypatch):
    extra = {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "bootstrap.servers": "broker:9092"}
    connection = {"conn_type": "kafka", "login": "me", "password": SECRET, "extra": json.dumps(extra)}
    monkeypatch.setenv("AIRFLOW_CONN_MAIN", json.dumps(connection))
    servers = Servers("broker:9092", "main")
    settings = servers.settings()
    assert settings["bootstrap.servers"] == "broker:9092"
    assert settings["security.protocol"] == "SASL_SSL"
    assert (settings["sasl.username"], settings["sasl.password"]) == ("me", SECRET)
    assert SECRET not in repr(servers)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (None, "there is no environment variable AIRFLOW_CONN_MAIN"),
        (f"kafka://me:{SECRET}@broker", "AIRFLOW_CONN_MAIN is no connection in JSON"),
        (
            json.dumps({"password": SECRET, "host": "broker", "port": 9092, "extra": {"enable.auto.commit": "true"}}),
            "enable.auto.commit",
        ),
    ],
)
def test_what_is_no_connection_is_refused_without_its_secret(monkeypatch, text, wrong):
    monkeypatch.delenv("AIRFLOW_CONN_MAIN", raising=False)
    if text is not None:
        monkeypatch.setenv("AIRFLOW_CONN_MAIN", text)
    with pytest.raises(Refused) as refused:
        Servers("broker:9092", "main").settings()
    assert wrong in str(refused.value)
    assert SECRET not in str(refused.value)
