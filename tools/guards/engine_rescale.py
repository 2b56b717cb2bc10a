"""Guards of the room `engine`: a changed number of tasks."""

from __future__ import annotations

from guards.mutation import Mutation

_TESTS = "tests/unit/stream/test_rescale.py"
_DIES = f"{_TESTS}::test_a_driver_that_dies_at_any_write_while_the_number_changes_gives_the_oracles_answers"

PAIRS = "tests/unit/stream/test_rescale_pairs.py"

MUTATIONS = (
    Mutation(
        "rescale: a task gets its keys from the states of all tasks before",
        "engine/moved_states.py",
        "if not change.moves or before < 0:",
        "if True:",
        (f"{_DIES}[aggregate-0]",),
    ),
    Mutation(
        "rescale: rows of incomplete ticks move with their keys",
        "engine/moved_states.py",
        "kind.moved_rows(side, [each.pending[side].to_arrow() for each in states], slot)",
        "kind.moved_rows(side, [each.pending[side].to_arrow().slice(0, 0) for each in states], slot)",
        (f"{_DIES}[aggregate-0]",),
    ),
    Mutation(
        "rescale: states in memory are of the number of tasks before",
        "engine/local_executor.py",
        "if change.moves:",
        "if False:",
        (f"{_TESTS}::test_one_driver_takes_up_another_number_at_each_batch[topk]",),
    ),
    Mutation(
        "rescale: a batch that runs again starts from the number of tasks before it",
        "engine/task_change.py",
        'fact.value["before"] if fact.batch == header.batch else now',
        "now",
        (f"{_DIES}[aggregate-0]",),
    ),
    Mutation(
        "rescale: a rebuild begins with the number of the file",
        "engine/task_change.py",
        "fact.batch < since",
        "False",
        (f"{_TESTS}::test_a_rebuild_spreads_the_state_over_the_number_of_the_file",),
    ),
    Mutation(
        "rescale of a join: rows are routed by the plans of their number of tasks",
        "engine/pipeline.py",
        "routes = kind.partition.assign(side, all_rows, header.plans(change.since), change.now)",
        "routes = kind.partition.assign(side, all_rows, header.plans(self.plans_from), change.now)",
        (PAIRS,),
    ),
    Mutation(
        "rescale of a join: a task owns pairs by the plans of its number of tasks",
        "engine/pipeline.py",
        "if change is None else (change.now, change.since)",
        "if change is None else (change.now, self.plans_from)",
        (PAIRS,),
    ),
    Mutation(
        "rescale of a join: a plan for the former number is not taken",
        "engine/feedback.py",
        "return plan if change_after(facts, *self._of_checkpoint).since == self._change.since else None",
        "return plan",
        (PAIRS, "tests/unit/engine/test_feedback.py"),
    ),
    Mutation(
        "rescale of a join: loads of the former number make no plan",
        "engine/feedback.py",
        "            self.plan, self._loads, self._began_ms = None, {}, None\n",
        "            pass\n",
        ("tests/unit/engine/test_feedback.py",),
    ),
)
