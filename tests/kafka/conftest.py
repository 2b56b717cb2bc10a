"""One broker for all tests of a process."""

from __future__ import annotations

import pytest

from kafka_broker import running_broker
from unit.cli.conftest import tailrace

__all__ = ["broker", "tailrace"]


@pytest.fixture(scope="session")
def broker(tmp_path_factory):
    with running_broker(tmp_path_factory.mktemp("kafka")) as broker:
        yield broker
