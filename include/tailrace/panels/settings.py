"""The panel `settings`: the query file as deployed and on disk, options, facts over time, and versions."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated, Any

from pydantic import Field

from tailrace import __version__
from tailrace.engine.task_states import VERSION as STATE_VERSION
from tailrace.ground.errors import Refused
from tailrace.panels.explanation import explanation
from tailrace.panels.panel import Panel, PanelAnswer, PanelRequest, Shown
from tailrace.panels.plain_values import plain
from tailrace.panels.query_view import QueryView
from tailrace.panels.stamped_facts import SUBJECTS, StampedFact, newest_facts
from tailrace.query.loading import parse
from tailrace.query.yaml_file import read as read_text
from tailrace.storage.deployed import DeployedQuery
from tailrace.storage.manifest import FORMAT


class SettingsRequest(PanelRequest):
    """The number of the newest facts that are shown of each subject."""

    limit: Annotated[int, Field(ge=1, le=1000)] = 100


class Edit(Shown):
    """A setting that differs: in the deployed copy, which is in force, and in the file on disk."""

    field: str
    before: str
    after: str


class Part(Shown):
    """A part of the explanation of a query, as `tailrace explain` prints it."""

    name: str
    text: str


class Versions(Shown):
    """Versions of this tailrace, and of what the stream's checkpoint has; null where there is none.

    Attributes
    ----------
    state, format : int or None
        Of the tasks' states, and of the journal and the tables, as the checkpoint has them.
    current_state, current_format : int
        As this tailrace writes them.
    """

    tailrace: str
    state: int | None
    format: int | None
    current_state: int
    current_format: int


class SettingsAnswer(PanelAnswer):
    """The settings of a query.

    Attributes
    ----------
    file : str or None
        The path of the query file.
    deployed, on_disk : str or None
        The text that was deployed, and the one that the file has now.
    fault : str or None
        Why the file on disk would be refused, or can't be read; then nothing is known of differences.
    explanation : list of Part
        How the query in force is run; empty where this version refuses it.
    facts : list of StampedFact
        The newest of each subject, in the order in which they came into force.
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
    versions: Versions


def read(view: QueryView, request: SettingsRequest) -> SettingsAnswer:
    """Read the settings in force, and those on disk."""
    deployed = DeployedQuery.read(view.layout)
    on_disk, fault, edits = _on_disk(view, deployed)
    facts, total = _facts(view, request.limit)
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
        versions=_versions(view),
    )
    return answer.model_copy(update={"note": _note(view, deployed, answer)})


def _on_disk(view: QueryView, deployed: DeployedQuery | None) -> tuple[str | None, str | None, list[Edit]]:
    """Return the file's text, why it would be refused, and what differs from the deployed copy."""
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
    found = deployed.edits(query)
    return text, None, [Edit(field=each.field, before=each.before, after=each.now) for each in found]


def _explanation(view: QueryView) -> list[Part]:
    try:
        parts = explanation(view.query)
    except Refused:
        return []
    return [Part(name=name, text=text) for name, text in parts.items()]


def _facts(view: QueryView, limit: int) -> tuple[list[StampedFact], int]:
    tick_ms = 0
    with suppress(Refused):  # then the times of settings are not known
        tick_ms = view.query.tick_ms
    facts, total = list[StampedFact](), 0
    for about in SUBJECTS:
        newest, count = newest_facts(view.tables, about, tick_ms, limit)
        facts, total = facts + newest, total + count
    return sorted(facts, key=lambda fact: (fact.at is not None, fact.at or 0)), total


def _versions(view: QueryView) -> Versions:
    manifest = view.layout.read_manifest()
    return Versions(
        tailrace=__version__,
        state=None if manifest is None else manifest.state,
        format=None if manifest is None else manifest.format,
        current_state=STATE_VERSION,
        current_format=FORMAT,
    )


def _note(view: QueryView, deployed: DeployedQuery | None, answer: SettingsAnswer) -> str | None:
    """Return the worst that is true of the settings; None where the file is what was deployed, and all is shown."""
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
    "settings", SettingsRequest, read, ("facts", "segments"), ("_stream/deployed.json", "_stream/origin.json")
)
