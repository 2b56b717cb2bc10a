"""Guards of the room `topk`."""

from __future__ import annotations

from guards.mutation import Mutation

SELECTED = "tests/unit/topk/test_selected.py"

MUTATIONS = (
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
