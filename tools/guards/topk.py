"""Guards of the room `topk`."""

from __future__ import annotations

from guards.mutation import Mutation

SELECTED = "tests/unit/topk/test_selected.py"

SCORES = "tests/unit/topk/test_scores.py"

MUTATIONS = (
    Mutation(
        "top-k: scores have the type of their column",
        "topk/kind.py",
        "SelectedColumns(self.selected), self.score_type)",
        "SelectedColumns(self.selected))",
        (f"{SCORES}::test_integers_beyond_2_53_are_ranked_as_duckdb_does",),
    ),
    Mutation(
        "top-k: the least integer is last in descending order",
        "topk/scores.py",
        "return -numbers if numbers.dtype == np.float64 else ~numbers",
        "return -numbers",
        (f"{SCORES}::test_stored_scores_and_their_sort_keys_give_them_back",),
    ),
    Mutation(
        "top-k: a group without k rows has no bound, whatever its scores are",
        "topk/best.py",
        " & (self._holder[group] >= 0)",
        "",
        (f"{SCORES}::test_the_greatest_integer_of_a_group_without_a_bound_is_a_contender",),
    ),
    Mutation(
        "select: what answers have anyway is left out",
        "topk/section.py",
        "own = identity.get(name.lower())",
        "own = None",
        ("tests/unit/topk/test_selected.py",),
    ),
    Mutation(
        "top-k: candidates of a tick come in the order of arrival, however it is cut",
        "topk/candidate_lists.py",
        "        pending.reverse()",
        "        pending = sorted(pending, key=lambda row: row[0], reverse=True)",
        ("tests/unit/topk/test_selected.py::test_of_repeats_in_a_tick_the_first_stays_however_the_tick_is_cut",),
    ),
    Mutation(
        "top-k: no column is selected by a name that answers have",
        "topk/section.py",
        "if name.lower() in taken:",
        "if False:",
        (SELECTED,),
    ),
    Mutation(
        "top-k: a null of a selected column stays null",
        "topk/selected.py",
        "is_null = np.asarray(rows.column(PREFIX + name + _HAS)) == 0",
        "is_null = np.zeros(len(rows), bool)",
        (SELECTED,),
    ),
    Mutation(
        "top-k: selected columns have no part in the order of a ranking",
        "topk/selected.py",
        "        return True\n",
        "        return tuple.__eq__(self, other) is True\n",
        (SELECTED,),
    ),
)
