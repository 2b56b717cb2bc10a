"""Guards of the room `storage`: a changed number of tasks."""

from __future__ import annotations

from guards.mutation import Mutation

_TESTS = "tests/unit/stream/test_rescale.py"

MUTATIONS = (
    Mutation(
        "rescale: the state of each task in force must be there",
        "storage/checkpoint.py",
        "tasks_after_batch(layout, query, manifest, newest), newest",
        "query.tasks, newest",
        (f"{_TESTS}::test_a_lost_state_of_any_task_in_force_is_refused",),
    ),
    Mutation(
        "rescale: a join with a table has no tasks",
        "storage/tasks_in_force.py",
        "if not query.has_late_tuples:",
        "if False:",
        (f"{_TESTS}::test_what_can_not_be_moved_is_refused_with_the_way_on",),
    ),
)
