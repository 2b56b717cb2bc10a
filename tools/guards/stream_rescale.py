"""Guards of the room `stream`: the number of tasks: requests and the policy."""

from __future__ import annotations

from guards.mutation import Mutation

_TESTS = "tests/unit/stream/test_rescale.py"
_POLICY = "tests/unit/stream/test_load_policy.py"

MUTATIONS = (
    Mutation(
        "rescale: a request is taken up once",
        "stream/task_number.py",
        'request.id != known.get("request")',
        "True",
        (f"{_TESTS}::test_a_number_that_was_requested_outlives_restarts_and_an_edit_of_the_file_is_newer", _POLICY),
    ),
    Mutation(
        "rescale: a disk that is away does not end the stream for a request",
        "stream/task_number.py",
        "with suppress(OSError):",
        "with suppress(ZeroDivisionError):",
        (f"{_TESTS}::test_a_request_on_a_disk_that_is_away_is_taken_up_once_it_is_back",),
    ),
    Mutation(
        "rescale: an edit of parallelism is taken up",
        "stream/task_number.py",
        "if declared != [*self.declared] and",
        "if False and",
        (f"{_TESTS}::test_a_number_that_was_requested_outlives_restarts_and_an_edit_of_the_file_is_newer", _POLICY),
    ),
    Mutation(
        "elasticity: a slow batch without rows is no burst",
        "stream/load_policy.py",
        "if rows and took_ms >= BUSY_MS",
        "if took_ms >= BUSY_MS",
        (f"{_POLICY}::test_a_slow_batch_without_rows_is_no_burst",),
    ),
    Mutation(
        "elasticity: a change starts the count again",
        "stream/load_policy.py",
        "self._settling - 1, 0, 0",
        "self._settling - 1, self._busy, self._calm",
        (f"{_POLICY}::test_a_burst_doubles_the_number_within_three_batches_and_calm_halves_it",),
    ),
    Mutation(
        "elasticity: a burst soon after a lowering makes the next one wait longer",
        "stream/load_policy.py",
        "self.patience = min(2 * self.patience, _MOST_PATIENCE)",
        "pass",
        (f"{_POLICY}::test_a_burst_soon_after_a_lowering_makes_the_next_one_wait_longer",),
    ),
    Mutation(
        "rescale: a request for the number in force leaves the plans in force",
        "stream/task_number.py",
        'value["since"] = change.since if tasks == before else batch',
        'value["since"] = batch',
        ("tests/unit/stream/test_load_policy.py",),
    ),
    Mutation(
        "rescale of a join: the chunks of tasks that have ended are removed",
        "stream/orphans.py",
        "        count += _remove_chunks_of_ended_tasks(layout)\n",
        "",
        ("tests/unit/stream/test_orphans.py",),
    ),
    Mutation(
        "elasticity: the batch that moves the state is no burst",
        "stream/load_policy.py",
        "            self._settling = _SETTLES\n",
        "            pass\n",
        ("tests/unit/stream/test_load_policy.py",),
    ),
)
