"""One S3-compatible server for all tests of a process, and a connection to it."""

from __future__ import annotations

import uuid

import pytest

from kit.parts.object_store import BUCKET, running_gateway
from tailrace.ground.files import object_stores


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items):
    for item in items:
        if "objects" in item.path.parts:
            item.add_marker(pytest.mark.xdist_group("objects"))  # one server, and the other processes have the cores


@pytest.fixture(scope="session")
def gateway(tmp_path_factory):
    with running_gateway(tmp_path_factory.mktemp("s3")) as gateway:
        yield gateway


@pytest.fixture
def warehouse(gateway, connection, monkeypatch, tmp_path):
    """The URL of an empty warehouse, on a machine of its own."""
    monkeypatch.setenv("TAILRACE_WAREHOUSE_CONNECTION", connection)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    return f"s3://{BUCKET}/warehouses/{uuid.uuid4().hex}"


@pytest.fixture
def connection(gateway, monkeypatch):
    """The name of a connection to the server."""
    monkeypatch.setenv("AIRFLOW_CONN_LAKE", gateway.connection())
    object_stores.store_of.cache_clear()
    yield "lake"
    object_stores.store_of.cache_clear()
