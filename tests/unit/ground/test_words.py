from __future__ import annotations

from tailrace.ground.words import counted


def test_one_thing_is_no_plural() -> None:
    assert [counted(number, "batch", "batches") for number in (0, 1, 2000)] == ["0 batches", "1 batch", "2,000 batches"]
    assert [counted(number, "row") for number in (1, 2)] == ["1 row", "2 rows"]
