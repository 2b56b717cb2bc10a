"""Contents that a process holds: of a state that is read again and again, as much as there is room for."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tailrace.engine.content_cache import ContentCache

CONTENT = pa.py_buffer(b"0123456789")
NAMES = [str(number) for number in range(101)]


def scan(held: ContentCache, directory: str, names: list[str]) -> int:
    """Read a state as a batch does; returns how many contents were held."""
    found = held.read(directory, names)
    for name in names:
        if name not in found:
            held.add(directory, name, CONTENT)
    return len(found)


@pytest.mark.parametrize(("room", "hits"), [(100, 100), (50, 50), (1000, 101), (0, 0)])
def test_of_a_state_that_is_read_as_a_whole_is_held_what_has_room(room, hits):
    held = ContentCache(room * CONTENT.size)
    assert [scan(held, "0", NAMES) for _ in range(4)] == [0, hits, hits, hits]
    assert held.size == hits * CONTENT.size


def test_several_states_share_the_room():
    held = ContentCache(60 * CONTENT.size)
    hits = [[scan(held, task, NAMES[:40]) for task in "ab"] for _ in range(20)]
    assert hits == [[0, 0]] + [[40, 20]] * 19


def test_a_content_that_the_state_names_no_more_makes_room():
    held = ContentCache(10 * CONTENT.size)
    scan(held, "0", NAMES[:10])
    assert scan(held, "0", NAMES[5:15]) == 5
    assert scan(held, "0", NAMES[5:15]) == 10


def test_a_state_that_is_read_elsewhere_now_makes_room():
    held = ContentCache(10 * CONTENT.size)
    scan(held, "moved", NAMES[:10])
    hits = [scan(held, "0", NAMES[:10]) for _ in range(30)]
    assert (hits[0], hits[-1]) == (0, 10)
    assert held.size == 10 * CONTENT.size


def test_contents_are_replaced_and_dropped_by_name():
    held = ContentCache(100)
    for content in (CONTENT, CONTENT.slice(3)):
        held.add("0", "a", content)
    assert held.read("0", ["a"])["a"].equals(CONTENT.slice(3))
    assert held.size == 7
    for _ in range(2):
        held.drop("0", "a")
    assert held.read("0", ["a"]) == {}
    assert held.size == 0
