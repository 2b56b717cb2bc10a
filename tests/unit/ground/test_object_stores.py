"""Clients of object stores: what a connection may set, and errors that name the URL and no secret."""

from __future__ import annotations

import json

import pytest
from obstore.exceptions import GenericError, PermissionDeniedError

from tailrace.ground.errors import Refused
from tailrace.ground.files.object_stores import settings_of, store_errors, store_of
from tailrace.ground.files.object_urls import ObjectUrl

SECRET = "hunter2"


@pytest.fixture(autouse=True)
def _no_clients_of_other_tests():
    store_of.cache_clear()
    yield
    store_of.cache_clear()


def declare(monkeypatch, **connection: object) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_LAKE", json.dumps(connection))


def test_a_connection_to_s3_is_one_of_airflows(monkeypatch):
    extra = {"region_name": "eu-central-1", "endpoint_url": "https://s3.example", "aws_session_token": "t"}
    declare(monkeypatch, conn_type="aws", login="me", password=SECRET, extra=extra)
    assert settings_of(ObjectUrl("s3://lake", ""), "lake") == {
        "aws_region": "eu-central-1",
        "aws_endpoint": "https://s3.example",
        "aws_session_token": "t",
        "aws_access_key_id": "me",
        "aws_secret_access_key": SECRET,
    }
    assert SECRET not in repr(store_of("s3://lake", "lake"))


def test_connections_to_other_stores(monkeypatch):
    declare(monkeypatch, extra={"keyfile_dict": {"private_key": SECRET}})
    settings = settings_of(ObjectUrl("gs://lake", ""), "lake")
    assert json.loads(settings["google_service_account_key"]) == {"private_key": SECRET}
    declare(monkeypatch, login="account", password="c2VjcmV0")
    assert settings_of(ObjectUrl("abfss://c@account.dfs.core.windows.net", ""), "lake") == {
        "azure_storage_account_key": "c2VjcmV0"
    }
    store_of("abfss://c@account.dfs.core.windows.net", "lake")


def test_without_a_connection_nothing_is_set():
    assert settings_of(ObjectUrl("s3://lake", ""), None) == {}


@pytest.mark.parametrize(
    ("extra", "wrong"),
    [({"aws_bucket": "other"}, "aws_bucket"), ({"aws_virtual_hosted_style_request": SECRET}, "make no client")],
)
def test_other_settings_and_wrong_ones_are_refused_without_their_values(monkeypatch, extra, wrong):
    declare(monkeypatch, login="me", password=SECRET, extra=extra)
    with pytest.raises(Refused, match="connection lake") as refused:
        store_of("s3://lake", "lake")
    assert wrong in str(refused.value)
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (GenericError("Error performing GET https://a/b?sig=hunter2 in 1s - x\nDebug: hunter2"), OSError),
        (GenericError("GET - Server returned non-2xx status code: 403 Forbidden: hunter2"), PermissionError),
        (PermissionDeniedError("no"), PermissionError),
        (GenericError("GET - Server returned non-2xx status code: 404 Not Found: hunter2"), FileNotFoundError),
    ],
)
def test_errors_of_the_client_are_those_of_the_system_and_name_the_url(error, kind):
    with pytest.raises(kind) as raised, store_errors("s3://lake/a"):
        raise error
    assert type(raised.value) is kind
    assert raised.value.errno is not None  # a damaged Parquet file has none
    assert "s3://lake/a" in str(raised.value)
    assert SECRET not in str(raised.value)
