"""Group keys: each task has a Spark partition of its own, the same one in every run."""

import pytest

from tailrace.spark.executor import group_keys, spark_hash


@pytest.mark.parametrize("tasks", [1, 2, 3, 7, 16, 200])
def test_no_two_tasks_share_a_partition(tasks):
    assert [spark_hash(key) % tasks for key in group_keys(tasks)] == list(range(tasks))


def test_the_hash_is_that_of_spark_sql():
    """The values are of Spark's SQL: select hash(0), hash(1), hash(2), hash(3), hash(-1)."""
    hashes = [933211791, -559580957, 1765031574, -1823081949, -1604776387]
    assert [spark_hash(value) for value in (0, 1, 2, 3, -1)] == hashes


def test_the_keys_of_existing_checkpoints_do_not_change():
    """The keys are the smallest ones; with others, a task would not find its state in an existing checkpoint."""
    assert group_keys(2) == [2, 0]
