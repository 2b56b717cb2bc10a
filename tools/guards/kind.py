"""Guards of the room `kind`."""

from __future__ import annotations

from guards.mutation import Mutation

MUTATIONS = (
    Mutation(
        "a promise is of numbers, where it names no columns",
        "kind/column_errors.py",
        "return numeric or kind.names",
        "return kind.names",
        ("tests/unit/correction/test_quality_by_answer.py",),
    ),
    Mutation(
        "where of a join: a pair for which it fails is none",
        "kind/pair_condition.py",
        "projected.kept & ~failed",
        "projected.kept",
        ("tests/unit/kind/test_pair_condition.py",),
    ),
    Mutation(
        "where of a join: no column in tuples is named as one of the identity",
        "kind/pair_condition.py",
        "if each.name.lower() in PAIR.columns else each",
        "if False else each",
        ("tests/unit/kind/test_pair_condition.py",),
    ),
    Mutation(
        "where of a join: a pair that it does not keep is no pair",
        "kind/joined_pairs.py",
        "if self.condition is None or not (len(matches.left) or self.keeps_failed):",
        "if True:",
        (
            "tests/contract/test_conditions_of_pairs.py::test_a_condition_holds_in_streamed_corrected_and_rebuilt_answers",
        ),
    ),
    Mutation(
        "where of a join: pairs for which it fails are counted",
        "kind/pair_condition.py",
        "return counts_of({reason",
        "return {} and counts_of({reason",
        ("tests/unit/kind/test_pair_condition.py",),
    ),
    Mutation(
        "where of a join: a correction keeps failed pairs apart, to count them",
        "kind/joined_pairs.py",
        "tested.kept | tested.failed, tested.counts",
        "tested.kept, tested.counts",
        (
            "tests/contract/test_conditions_of_pairs.py"
            "::test_a_condition_that_fails_for_all_pairs_is_counted_by_a_correction",
        ),
    ),
    Mutation(
        "select of a join: columns that are not there are refused by its field",
        "kind/pair_condition.py",
        'readers = dict.fromkeys(carried, f"{section}.select")',
        "readers = {}",
        ("tests/unit/kind/test_pair_condition.py",),
    ),
    Mutation(
        "where of a join: an aggregate is no matter of another kind's section",
        "kind/pair_condition.py",
        "_PAIR if error.remedy == AGGREGATE else error.remedy",
        "error.remedy",
        ("tests/unit/kind/test_pair_condition.py",),
    ),
    Mutation(
        "where of a join: a distance is limited by the section's field",
        "kind/pair_condition.py",
        "remedies.get(error.fault, ",
        "remedies.get(None, ",
        ("tests/unit/kind/test_pair_condition.py",),
    ),
    Mutation(
        "select of a join: what answers have anyway is left out",
        "kind/selection.py",
        "is_own = name.lower() in",
        "is_own = not name and name.lower() in",
        ("tests/unit/kind/test_selection.py",),
    ),
    Mutation(
        "select of a join: no name that an answer has already",
        "kind/selection.py",
        "if name.lower() in taken:",
        "if False:",
        ("tests/unit/kind/test_selection.py",),
    ),
    Mutation(
        "a pair that several tasks find is given by one: the task's own form of the kind runs",
        "kind/capabilities.py",
        "return kind if own is None else own(task_slot)",
        "return kind",
        ("tests/unit/kind/test_capabilities.py",),
    ),
    Mutation(
        "a column that the dimension table lacks is refused by its field",
        "kind/table_place.py",
        "field = fields.get(self.name)",
        "field = None",
        ("tests/contract/test_conditions_of_pairs.py",),
    ),
    Mutation(
        "rescale of a join: of a row and its replicas one is spread again",
        "kind/joined_pairs.py",
        'at_home = [part.filter(pc.greater(part.column("tuples"), 0)) for part in rows]',
        "at_home = list(rows)",
        ("tests/unit/stream/test_rescale_pairs.py",),
    ),
    Mutation(
        "a pair that is beyond a bound by microseconds is none",
        "kind/joined_pairs.py",
        "        kept[at_bound[is_beyond]] = False\n",
        "",
        ("tests/unit/cli/test_whole_times.py::test_pairs_lie_within_the_bounds_by_their_whole_times",),
    ),
)
