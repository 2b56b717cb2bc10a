"""Guards of the room `emd_join`."""

from __future__ import annotations

from guards.mutation import Mutation

MUTATIONS = (
    Mutation(
        "emd join: loads have the distances of two queries",
        "emd_join/results.py",
        "between_queries = self.solved_by_query[query] - candidates.solved.sum()",
        "between_queries = 0",
        ("tests/unit/emd_join/test_searches.py",),
    ),
    Mutation(
        "emd_ddsj: plans balance both terms of the cost",
        "emd_join/methods.py",
        'loads["filter_ms"] + loads["solve_ms"]',
        'loads["load"]',
        ("tests/unit/emd_join/test_methods.py",),
    ),
    Mutation(
        "emd_ddsj: a plan that is hardly better is no fact of the journal",
        "emd_join/methods.py",
        "return new if former > best + _WORTH else plan",
        "return new",
        ("tests/unit/emd_join/test_methods.py",),
    ),
    Mutation(
        "head: cells have two dimensions",
        "emd_join/hough_cells.py",
        "return np.asarray(mean * _SIDE + deviation)",
        "return np.asarray(mean * _SIDE)",
        ("tests/unit/emd_join/test_methods.py",),
    ),
    Mutation(
        "emd join: solves cost the candidates that are solved",
        "emd_join/search_cost.py",
        "self.by_target[rows, SOLVE] += solve_ms * solves / max(solves.sum(), 1)",
        "self.by_target[rows, SOLVE] += solve_ms / max(len(rows), 1)",
        ("tests/unit/emd_join/test_search_cost.py",),
    ),
    Mutation(
        "emd_join: only a method that balances cost reports the spans of stored tuples",
        "emd_join/kind.py",
        "(cost.any(axis=1) & self.method.balances_cost)",
        "cost.any(axis=1)",
        ("tests/unit/emd_join/test_search_cost.py",),
    ),
    Mutation(
        "emd_join: the import of the solver is no cost of the first query that solves",
        "emd_join/results.py",
        "            solver()  #",
        "            pass  #",
        ("tests/unit/emd_join/test_search_cost.py",),
    ),
    Mutation(
        "emd_join without its libraries is refused where it is declared",
        "emd_join/section.py",
        '        validate_extra("emd")\n',
        "",
        ("tests/unit/cli/test_core_alone.py",),
    ),
)
