"""The verdicts on paper 000's figures 6 to 8: the feedback period, the span, and the balance of the tasks.

The paper's load is the number of exact distances. Plans here balance CPU time. So the verdicts show the imbalance by
both, and follow from both.
"""

from __future__ import annotations

from bench.emd.balance import of_setting
from bench.page import cell
from bench.progress import Row
from bench.verdicts import Outcome, Tables, Verdict, one, outcome_of

_METHODS = ("emd_ddsj", "shuffle", "head")
_JOINS = ("S ⋈ SS", "S ⋈ M")
_EXACT, _WORK, _SPEED = "imbalance of the run", "imbalance of work", "R-tuples/s"
_NAMES = {_EXACT: "imbalance of exact distances", _WORK: "imbalance of work", _SPEED: _SPEED}
_BEST_PERIOD, _BEST_SPAN, _TASKS = 2500, 15, 5
_TWICE, _THREE_TIMES = 2, 3  # "slightly" is at most twice as much; "over 200 % more" is three times


def feedback(tables: Tables) -> Verdict:
    """Judge the feedback period with the least imbalance (figure 6)."""
    why = "plans follow the streams a period late; the shortest period here is one batch"
    return _best(tables, "feedback ms", _BEST_PERIOD, (_EXACT, _WORK), why)


def span(tables: Tables) -> Verdict:
    """Judge the span with the shortest run (figure 7), which is that with the greatest throughput."""
    return _best(tables, "span", _BEST_SPAN, (_SPEED,), "")


def balance(tables: Tables) -> Verdict:
    """Judge the imbalance of the three methods (figure 8), in each join."""
    shown, slightly, head_over = list[str](), list[bool](), list[bool]()
    for figure in (_EXACT, _WORK):
        joins = list[str]()
        for join in _JOINS:
            rows = [one(tables["balance"], method=name, tasks=_TASKS, join=join) for name in _METHODS]
            ours, shuffle, head = (row[figure] for row in rows)
            joins.append(f"{join} {' / '.join(cell(figure, row[figure]) for row in rows)}")
            slightly.append(ours <= _TWICE * shuffle)
            head_over.append(head > _THREE_TIMES * ours)
        shown.append(f"{_NAMES[figure]}: {', '.join(joins)}")
    here = f"{_TASKS} tasks, {' / '.join(_METHODS)}; {'; '.join(shown)}"
    why = f"of {len(slightly)} figures {sum(slightly)} at most twice shuffle's, {sum(head_over)} less than a third of "
    why += "head's; plans follow the film a period late"
    return Verdict(here, outcome_of(all(slightly), all(head_over)), why)


def _best(tables: Tables, setting: str, papers: int, figures: tuple[str, ...], why: str) -> Verdict:
    """Judge the value of a setting that the paper calls best by some figures, in each join."""
    shown, held = list[str](), list[bool | None]()
    for figure in figures:
        joins = list[str]()
        for join in _JOINS:
            rows = of_setting(tables["balance"], join, setting)
            if len(rows) == 1:
                raise LookupError(f"one {setting} alone compares with none")
            best, rival, holds = _compared(rows, setting, papers, figure)
            beside = f"at {rival[setting]:,} {cell(figure, rival[figure])}"
            joins.append(f"{join} {best[setting]:,} ({cell(figure, best[figure])}; {beside})")
            held.append(holds)
        shown.append(f"{_NAMES[figure]}: {', '.join(joins)}")
    here = f"best by {'; by '.join(shown)}"
    clear = [each for each in held if each is not None]
    if not clear:
        return Verdict(here, Outcome.NOT_MEASURABLE, "no conclusion: the ranges of the rounds overlap")
    if len(clear) < len(held):
        why += f"; no conclusion in {len(held) - len(clear)} of {len(held)}, whose ranges overlap or are not recorded"
    return Verdict(here, outcome_of(all(held), any(clear)), why.removeprefix("; "))


def _compared(rows: list[Row], setting: str, papers: int, figure: str) -> tuple[Row, Row, bool | None]:
    """Return the best row, its rival, and whether the best is the paper's; None where the rounds can't tell.

    The rival is the paper's row, or the next best where the paper's is the best. It has to be apart from the best, and
    the paper's from all others.
    """
    theirs = one(rows, **{setting: papers})
    best, following, *_ = sorted(rows, key=lambda row: float(row[figure]) * (-1 if figure == _SPEED else 1))
    if best is not theirs:
        return best, theirs, False if _apart(best, theirs, figure) else None
    is_apart = all(_apart(best, row, figure) for row in rows if row is not best)
    return best, following, True if is_apart else None


def _apart(row: Row, other: Row, figure: str) -> bool:
    """Test whether the ranges of the rounds are known, and do not overlap."""
    least, greatest = f"{figure}, least", f"{figure}, greatest"
    if least not in row:
        return False
    return bool(max(row[least], other[least]) > min(row[greatest], other[greatest]))
