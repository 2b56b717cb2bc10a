"""The assignment of keys to tasks is the same in every process, version and array layout."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from tailrace.partition.by_key import task_of

TEXTS = ["a", "b", "", "clé", "日本", "a" * 40, None]
TEXT_TASKS = [343, 514, 535, 240, 239, 771, 535]
INTS = [0, 1, -1, 2**63 - 1, -(2**63), None]
INT_TASKS = [535, 465, 936, 39, 915, 535]


# Frozen values: if one of them changes, the state in every existing checkpoint belongs to the wrong task.
def test_the_tasks_of_texts_never_change() -> None:
    assert task_of(pa.array(TEXTS), 1000).tolist() == TEXT_TASKS


def test_the_tasks_of_integers_never_change() -> None:
    assert task_of(pa.array(INTS), 1000).tolist() == INT_TASKS


@pytest.mark.parametrize("values", [TEXTS, INTS], ids=["texts", "integers"])
def test_the_task_of_a_key_does_not_depend_on_other_keys(values: list) -> None:
    array = pa.array(values)
    expected = task_of(array, 64).tolist()
    assert [task_of(array.slice(i, 1), 64)[0] for i in range(len(array))] == expected


@pytest.mark.parametrize("values", [TEXTS, INTS], ids=["texts", "integers"])
@pytest.mark.parametrize(("start", "length"), [(0, 3), (2, 3), (4, 3), (3, 0)])
def test_the_task_of_a_key_does_not_depend_on_slicing(values: list, start: int, length: int) -> None:
    array = pa.array(values)
    assert task_of(array.slice(start, length), 64).tolist() == task_of(array, 64)[start : start + length].tolist()


@pytest.mark.parametrize("values", [TEXTS, INTS], ids=["texts", "integers"])
def test_the_task_of_a_key_does_not_depend_on_chunks(values: list) -> None:
    array = pa.array(values)
    chunks = pa.chunked_array([array.slice(0, 2), array.slice(2, 0), array.slice(2)])
    assert task_of(chunks, 64).tolist() == task_of(array, 64).tolist()


@pytest.mark.parametrize("kind", [pa.large_string(), pa.dictionary(pa.int32(), pa.string())], ids=str)
def test_the_task_of_a_text_does_not_depend_on_its_layout(kind: pa.DataType) -> None:
    assert task_of(pa.array(TEXTS).cast(kind), 64).tolist() == task_of(pa.array(TEXTS), 64).tolist()


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint8(), pa.int32(), pa.uint32()], ids=str)
def test_the_task_of_an_integer_does_not_depend_on_its_width(kind: pa.DataType) -> None:
    assert task_of(pa.array([0, 1, 100, None], kind), 64).tolist() == task_of(pa.array([0, 1, 100, None]), 64).tolist()


@pytest.mark.parametrize("kind", [pa.string(), pa.int64()], ids=str)
def test_no_keys_have_no_tasks(kind: pa.DataType) -> None:
    assert task_of(pa.array([], kind), 3).tolist() == []


def test_one_task_takes_all() -> None:
    assert task_of(pa.array(TEXTS), 1).tolist() == [0] * len(TEXTS)


@pytest.mark.parametrize("tasks", [2, 3, 7, 64])
@pytest.mark.parametrize(
    "keys",
    [pa.array(range(10_000)), pa.array([f"sensor-{i:05d}" for i in range(10_000)]), pa.array(range(0, 640_000, 64))],
    ids=["numbers", "texts", "multiples of 64"],
)
def test_tasks_are_balanced(keys: pa.Array, tasks: int) -> None:
    load = np.bincount(task_of(keys, tasks), minlength=tasks)
    assert len(load) == tasks
    assert abs(load - 10_000 / tasks).max() < 5 * np.sqrt(10_000 / tasks)
