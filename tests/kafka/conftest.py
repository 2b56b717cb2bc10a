"""One broker for all tests."""

from __future__ import annotations

import pytest

from kit.parts.kafka_broker import running_broker
from unit.cli.conftest import tailrace
from unit.generators.conftest import dev

__all__ = ["broker", "dev", "tailrace"]


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items):
    for item in items:
        if "kafka" in item.path.parts:
            item.add_marker(pytest.mark.xdist_group("kafka"))  # they wait for the broker more than they compute


@pytest.fixture(scope="session")
def broker(tmp_path_factory):
    with running_broker(tmp_path_factory.mktemp("kafka")) as broker:
        yield broker
