"""Another number of tasks of a live stream on the local engine: by hand and by the load, under a ten-fold burst."""

from __future__ import annotations

import pytest

from kit.runs.burst_stream import assert_a_busy_stream_gets_more_tasks, assert_two_four_and_two_tasks
from tailrace.stream import local_stream


@pytest.mark.needs("long")
def test_two_four_and_two_tasks_under_a_ten_fold_burst(tmp_path):
    assert_two_four_and_two_tasks(tmp_path, local_stream.run)


@pytest.mark.needs("long")
def test_a_busy_stream_raises_its_number_and_the_answers_are_the_oracles(tmp_path, monkeypatch):
    assert_a_busy_stream_gets_more_tasks(tmp_path, monkeypatch, local_stream.run)
