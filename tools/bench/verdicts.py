"""Verdicts: each claim of a paper, beside what the tables of its page hold."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from bench.progress import Row

Tables = Mapping[str, Sequence[Row]]

NOT_MEASURED = "this run did not measure it"

_PERCENT = re.compile(r"(?<=\d)%")  # pages have a space before it


class Outcome(StrEnum):
    """What the tables say of a claim."""

    CONFIRMED = "confirmed"
    PARTLY = "confirmed in part"
    CONTRADICTED = "contradicted"
    NOT_MEASURABLE = "not measurable here"


class Verdict(NamedTuple):
    """The figures of a page beside a claim, what they say of it, and why they do not confirm it."""

    here: str
    outcome: Outcome
    why: str = ""


@dataclass(frozen=True)
class Claim:
    """A claim of a paper.

    Attributes
    ----------
    figure : str
        The figure, table or section that makes it.
    text : str
        The claim, with the paper's numbers.
    judge : callable
        Compares it with the tables of the page.
    """

    figure: str
    text: str
    judge: Callable[[Tables], Verdict]


def verdicts(claims: Sequence[Claim], tables: Tables) -> list[Row]:
    """Judge claims by the tables of a page: a row for each.

    A page of which a part was not measured, as without a peer, has no verdict on the claims about that part.
    """
    rows = list[Row]()
    for claim in claims:
        try:
            verdict = claim.judge(tables)
        except LookupError:
            verdict = Verdict("–", Outcome.NOT_MEASURABLE, NOT_MEASURED)
        is_explained = verdict.why and verdict.outcome is not Outcome.CONFIRMED
        outcome = f"**{verdict.outcome}**" + (f": {verdict.why}" if is_explained else "")
        here = spaced(verdict.here)
        rows.append({"paper": claim.figure, "its claim": claim.text, "here": here, "verdict": spaced(outcome)})
    return rows


def spaced(text: str) -> str:
    """Put a space before each percent sign, as the pages do."""
    return _PERCENT.sub(" %", text)


def select(rows: Sequence[Row], **wanted: Any) -> list[Row]:
    """Return the rows that have the given values in the given columns."""
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


def one(rows: Sequence[Row], **wanted: Any) -> Row:
    """Return the one row that has the given values.

    Raises
    ------
    LookupError
        When there is none, or are several.
    """
    chosen = select(rows, **wanted)
    if len(chosen) != 1:
        raise LookupError(f"{len(chosen)} rows have {wanted}")
    return chosen[0]


def column(rows: Sequence[Row], name: str) -> list[Any]:
    """Return a column of rows, without the empty cells.

    Raises
    ------
    LookupError
        When no cell is left.
    """
    cells = [row[name] for row in rows if row[name] is not None]
    if not cells:
        raise LookupError(f"no row has {name}")
    return cells


def outcome_of(*holds: bool) -> Outcome:
    """Return the outcome of a claim by its parts: confirmed if all hold, in part if some do, else contradicted."""
    if all(holds):
        return Outcome.CONFIRMED
    return Outcome.PARTLY if any(holds) else Outcome.CONTRADICTED


def unmeasured(why: str) -> Callable[[Tables], Verdict]:
    """Return the judge of a claim that can't be measured here."""
    return lambda _: Verdict("–", Outcome.NOT_MEASURABLE, why)
