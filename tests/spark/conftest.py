"""One Spark for all tests of a process, in two processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from kit.parts.spark_session import _spark, spark  # noqa: F401  (fixtures)

SESSIONS = ("spark one", "spark two")
"""The groups of tests that share a session each."""


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items):
    shared = [item for item in items if item.path.parent == Path(__file__).parent and "_spark" in item.fixturenames]
    files = sorted({item.path for item in shared})
    for item in shared:
        item.add_marker(pytest.mark.xdist_group(SESSIONS[files.index(item.path) % len(SESSIONS)]))
