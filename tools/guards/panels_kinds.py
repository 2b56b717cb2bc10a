"""Guards of the room `panels`: panels of kinds."""

from __future__ import annotations

from guards.mutation import Mutation

EMD_JOIN, SPATIAL_JOIN, TOPK = (
    f"tests/unit/panels/kinds/test_{name}.py" for name in ("emd_join", "spatial_join", "topk")
)
CELLS = ("tests/unit/panels/test_cells.py",)

MUTATIONS = (
    Mutation(
        "rankings: what a correction moved beyond the rows that are shown is not gone",
        "panels/kinds/topk.py",
        'pc.or_(pc.less_equal(rows["rank"], MOST_ROWS), pc.is_in(rows["id"], best))',
        'pc.less_equal(rows["rank"], MOST_ROWS)',
        (TOPK,),
    ),
    Mutation(
        "joins: counts are of the range that is shown",
        "panels/kinds/emd_join.py",
        'within("committed", *ends)',
        "None",
        (f"{EMD_JOIN}::test_a_range_has_its_batches_and_the_plan_in_force_at_its_beginning",),
    ),
    Mutation(
        "a spatial join's map: the cells of few batches are held at a time",
        "panels/kinds/spatial_join.py",
        "*ends), _AT_ONCE)",
        "*ends))",
        (f"{SPATIAL_JOIN}::test_the_cells_of_few_batches_are_held_at_a_time",),
    ),
    Mutation(
        "spatial joins: of many cells the most loaded are shown",
        "panels/kinds/spatial_join.py",
        "np.argsort(-load",
        "np.argsort(load",
        (f"{SPATIAL_JOIN}::test_of_many_cells_the_most_loaded_are_shown",),
    ),
    Mutation(
        "cells: an integer that JavaScript rounds is a text",
        "panels/cells.py",
        "_EXACT = 1 << 53",
        "_EXACT = 1 << 63",
        CELLS,
    ),
    Mutation(
        "cells: no NaN and no infinity in JSON",
        "panels/cells.py",
        "None if value is None or not math.isfinite(value) else value",
        "value",
        CELLS,
    ),
    Mutation(
        "cells: a long text is cut, with a mark",
        "panels/cells.py",
        "return text if length <= LONGEST else",
        "return text if True else",
        CELLS,
    ),
)
