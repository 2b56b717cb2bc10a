"""A bucket in memory, in the place of every object store."""

from __future__ import annotations

import pytest
from obstore.store import MemoryStore

from tailrace.ground.files import object_path
from tailrace.ground.files.object_path import ObjectPath


def memory_bucket(monkeypatch: pytest.MonkeyPatch) -> ObjectPath:
    """An empty directory in it."""
    store = MemoryStore()
    monkeypatch.setattr(object_path, "store_of", lambda *_: store)
    return ObjectPath("s3://lake/of/tests")
