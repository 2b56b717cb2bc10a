"""The panel `settings`: the query file as deployed and on disk, options, and facts over time."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated, Any

from pydantic import Field

from tailrace.ground.errors import Refused
from tailrace.ground.facts import TABLE, TASKS
from tailrace.panels.cells import plain
from tailrace.panels.explanation import explanation
from tailrace.panels.panel import Panel, PanelAnswer, PanelRequest, Shown
from tailrace.panels.pieces import Pieces
from tailrace.panels.query_view import QueryView
from tailrace.panels.stamped_facts import StampedFact, newest_facts
from tailrace.query.loading import parse
from tailrace.query.yaml_file import read as read_text
from tailrace.storage.deployed import DeployedQuery


class SettingsRequest(PanelRequest):
    """The number of facts to show of each subject, the newest ones."""

    limit: Annotated[int, Field(ge=1, le=1000)] = 100


class Edit(Shown):
    """A setting that differs between the deployed copy, which is in force, and the file on disk."""

    field: str
    before: str
    after: str


class Part(Shown):
    """A part of the explanation of a query, as in `tailrace explain`."""

    name: str
    text: str


class SettingsAnswer(PanelAnswer):
    """The settings of a query.

    Attributes
    ----------
    file : str or None
        The path of the query file.
    deployed, on_disk : str or None
        The deployed text, and the file's text now.
    fault : str or None
        The reason why the file on disk would be refused or can't be read, so that differences are unknown.
    explanation : list of Part
        How the query in force is run; empty if this version refuses it.
    facts : list of StampedFact
        The newest facts of each subject, in the order in which they took effect.
    facts_total : int
        The number of all facts.
    """

    file: str | None
    deployed: str | None
    on_disk: str | None
    fault: str | None
    differences: list[Edit]
    options: dict[str, Any]
    explanation: list[Part]
    facts: list[StampedFact]
    facts_total: int


def read(view: QueryView, request: SettingsRequest) -> SettingsAnswer:
    """Read the settings in force and on disk."""
    deployed = DeployedQuery.read(view.layout)
    on_disk, fault, edits = _on_disk(view, deployed)
    pieces = Pieces()
    facts, total = pieces.read("facts facts_total", lambda: _facts(view, request.limit), (list[StampedFact](), 0))
    file = view.file or (None if deployed is None else deployed.file)
    answer = SettingsAnswer(
        file=None if file is None else str(file),
        deployed=None if deployed is None else deployed.text,
        on_disk=on_disk,
        fault=fault,
        differences=edits,
        options={} if deployed is None else plain(deployed.options),
        explanation=_explanation(view),
        facts=facts,
        facts_total=total,
        damaged=pieces.damaged,
    )
    return answer.model_copy(update={"note": _note(view, deployed, answer)})


def _on_disk(view: QueryView, deployed: DeployedQuery | None) -> tuple[str | None, str | None, list[Edit]]:
    """Return the file's text, the reason why it would be refused, and its differences from the deployed copy."""
    if view.file is None:
        return None, None, []
    text = None
    try:
        text = read_text(view.file)
        query = parse(view.file, text)
    except Refused as refused:
        problem = refused.problems[0]
        return text, f"{problem.where}: {problem.fault}", []
    if deployed is None or deployed.text == text:
        return text, None, []
    edits = deployed.edits(query)
    return text, None, [Edit(field=each.field, before=each.before, after=each.now) for each in edits]


def _explanation(view: QueryView) -> list[Part]:
    try:
        parts = explanation(view.query)
    except Refused:
        return []
    return [Part(name=name, text=text) for name, text in parts.items()]


def _facts(view: QueryView, limit: int) -> tuple[list[StampedFact], int]:
    tick_ms, read = 0, [TABLE]
    with suppress(Refused):  # otherwise the times of settings and the lookups are unknown
        tick_ms, read = view.query.tick_ms, [*view.query.tables]
    facts, total = list[StampedFact](), 0
    for subject in ("settings", TASKS, "plan", *read):
        newest, count = newest_facts(view.tables, subject, tick_ms, limit)
        facts, total = facts + newest, total + count
    return sorted(facts, key=lambda fact: (fact.at is not None, fact.at or 0)), total


def _note(view: QueryView, deployed: DeployedQuery | None, answer: SettingsAnswer) -> str | None:
    """Return the most important note on the settings.

    Return None if the file is the deployed one and everything is shown.
    """
    in_force = "nothing was deployed" if deployed is None else "its stream runs, or will go on with, what was deployed"
    if answer.fault is not None:
        return f"the file on disk would be refused: {answer.fault}; {in_force}"
    if view.file is None:
        return f"the query file is gone; {in_force}"
    if deployed is None:
        return "nothing was deployed: no copy is on record, and the query is shown as its file declares it"
    if answer.differences:
        return "the file on disk is not what was deployed: it comes into force by a deployment"
    if len(answer.facts) < answer.facts_total:
        return f"the newest {len(answer.facts):,} of {answer.facts_total:,} facts"
    return None


PANEL = Panel(
    "settings", SettingsRequest, read, ("facts", "segments"), ("_stream/deployed.json", "_stream/manifest.json")
)
