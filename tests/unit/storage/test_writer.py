"""A driver that is started on a full disk waits for room if it is asked to."""

from __future__ import annotations

import errno

import pytest

from tailrace.storage import conditional_store
from tailrace.storage.layout import Layout
from tailrace.storage.writer import only_driver


@pytest.fixture
def full_disk(tmp_path, monkeypatch):
    """Make the disk of a query's lease full at so many writes, and ask for a drain then if it stays full."""
    layout, create = Layout.for_query(tmp_path, "q"), conditional_store.create_atomically
    layout.home.mkdir(parents=True)

    def make(writes):
        left = iter(range(writes))

        def create_if_there_is_room(target, content):
            if next(left, None) is not None:
                raise OSError(errno.ENOSPC, "No space left on device")
            create(target, content)

        monkeypatch.setattr(conditional_store, "create_atomically", create_if_there_is_room)
        return layout

    return make


def test_a_driver_that_is_started_on_a_full_disk_waits_for_room_and_says_so(full_disk, capsys):
    with only_driver(full_disk(3), "a", 0.6, waits=True):
        assert capsys.readouterr().err.count("waiting for the warehouse: [Errno 28] No space left") == 1


def test_nobody_waits_for_a_full_disk_without_being_asked_to_nor_when_it_is_drained(full_disk):
    with pytest.raises(OSError, match="No space"), only_driver(full_disk(1), "a", 0.6):
        pass
    layout = full_disk(100)
    layout.request_drain()
    with pytest.raises(OSError, match="No space"), only_driver(layout, "a", 0.6, waits=True):
        pass
