"""Guards of the room `topk`."""

from __future__ import annotations

from guards.mutation import Mutation

SELECTED = "tests/unit/topk/test_selected.py"

MUTATIONS = (
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
