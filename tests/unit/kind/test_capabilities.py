"""Capabilities of kinds: a kind that has one is taken by it."""

from __future__ import annotations

from pathlib import Path

import pytest

from kit.runs.kind_streams import KINDS, TABLE_JOIN, query_of
from tailrace.kind.capabilities import TaskOwned, for_task
from tailrace.kind.protocol import windowed
from tailrace.kinds import build
from tailrace.partition.routes import TaskSlot

WINDOWED = [name for name in KINDS if name != TABLE_JOIN]


@pytest.mark.parametrize("name", WINDOWED)
def test_a_kind_whose_answers_belong_to_tasks_runs_as_the_one_of_its_task(name: str, tmp_path: Path) -> None:
    kind, task_slot = windowed(build(query_of(name, tmp_path))), TaskSlot(1, 3, ())
    owned = for_task(kind, task_slot)
    if isinstance(kind, TaskOwned):
        assert owned.task_slot == task_slot
    else:
        assert owned is kind


def test_joins_of_two_streams_of_geometries_own_their_answers(tmp_path: Path) -> None:
    owners = [name for name in WINDOWED if isinstance(build(query_of(name, tmp_path)), TaskOwned)]
    assert owners == ["spatial interval", "spatial window"]
