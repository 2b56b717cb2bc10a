"""Sentences of paper 000's page that follow from its tables."""

from __future__ import annotations

from collections.abc import Mapping

from bench.page import Conclusion
from bench.progress import Row
from bench.verdicts import Tables, column, select

_ENOUGH = 5  # rounds
_TASKS = 5  # of the join that is measured with Head-SJ and by tasks
_ROUNDED = {
    "balance": "feedback and balance",
    "cases": "the six joins",
    "speed": "speed in closed form by θ",
    "spark": "closed form on Spark",
}
"""The names of the parts without A/A that have rounds, by their tables."""


def solving(tables: Tables) -> str:
    """Tell how much of ShuffleJ's CPU exact distances take, at most, where they are to take half of it."""
    in_process = {"grid of 216": tables["grid_exact"], "matrix of 512": tables["matrix_exact"]}
    shares = {name: max(column(rows, "share solving")) for name, rows in in_process.items()}
    on_spark = select(tables["spark_chain"], method="shuffle")
    cells = list[str]()
    for name, share in shares.items():
        theirs = [row["share solving"] for row in on_spark if row["case"].endswith(name)]
        beside = f", and {max(theirs):.0%} on Spark" if theirs else ""
        cells.append(f"{share:.0%} of its CPU on the {name}{beside}")
    return f"ShuffleJ's exact distances take {'; '.join(cells)}."


def twice(tables: Tables) -> str:
    """Tell how far the medians of a join are apart that two parts measured; nothing if none was measured by both."""
    by_tasks, with_head = (tables[table] for table in ("chain_work", "head_work"))
    rows = [
        (here, there)
        for here in select(by_tasks, tasks=_TASKS)
        for there in with_head
        if there["case"].endswith(here["case"])
    ]
    if not rows:
        return ""
    here, there = rows[0]
    both = {name: sorted((here[name], there[name])) for name in _medians(here)}
    apart = {name: greater / less - 1 for name, (less, greater) in both.items()}
    name = max(apart, key=lambda each: apart[each])
    many = sum(each > 0.1 for each in apart.values())  # noqa: PLR2004
    return (
        f"The join at {_TASKS} tasks is also the first one with Head-SJ above. It was measured for each table. "
        f"{many} of its {len(apart)} medians differ by more than 10%, at most by {apart[name]:.0%} ({name}). "
        "A smaller difference between two numbers of tasks says nothing."
    )


def rounds(tables: Tables) -> str:
    """Name the parts of fewer rounds than five."""
    numbers = {name: min(column(tables[table], "rounds")) for table, name in _ROUNDED.items()}
    fewer = [f"{name} ({number})" for name, number in numbers.items() if number < _ENOUGH]
    return f"The tables of {', '.join(fewer)} have fewer than {_ENOUGH} rounds." if fewer else ""


def _medians(row: Row) -> list[str]:
    return [name for name, value in row.items() if isinstance(value, float) and name.endswith(("emd_ddsj", "shuffle"))]


CONCLUSIONS: Mapping[str, Conclusion] = {"solving": solving, "twice": twice, "fewer_rounds": rounds}
"""The sentences by their names in the page's text."""
