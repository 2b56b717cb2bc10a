"""The command that writes a query file from a sample of the user's own data."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tailrace.cli.local_paths import local_path
from tailrace.cli.new import KindName, new
from tailrace.cli.new_file import require_new, write_new
from tailrace.ground.errors import refuse
from tailrace.ground.files.atomic_files import is_url
from tailrace.terminal import screen

if TYPE_CHECKING:
    from tailrace.advice.proposal import Choices, QueryProposal
    from tailrace.advice.table_sample import TableSample

KAFKA = "kafka://"
_COLUMN = "COLUMN"


class DateOrderName(StrEnum):
    day = "day"
    month = "month"


def init(
    sample: Annotated[
        str | None,
        typer.Argument(
            help="A file or a directory (CSV, JSON lines, Parquet), a Delta table, or a topic: "
            "kafka://CONNECTION/TOPIC or kafka://HOST:PORT/TOPIC.",
            metavar="SAMPLE",
        ),
    ] = None,
    output: Annotated[Path, typer.Option(help="The query file to write.", callback=local_path)] = Path("query.yaml"),
    event_time: Annotated[
        str | None, typer.Option(help="The column with the time at which the event happened.", metavar=_COLUMN)
    ] = None,
    arrival_time: Annotated[str | None, typer.Option(help="The column with the arrival time.", metavar=_COLUMN)] = None,
    id: Annotated[str | None, typer.Option(help="The column that names a record.", metavar=_COLUMN)] = None,
    key: Annotated[str | None, typer.Option(help="The column to group by.", metavar=_COLUMN)] = None,
    value: Annotated[str | None, typer.Option(help="The column of numbers to compute.", metavar=_COLUMN)] = None,
    timezone: Annotated[
        str | None, typer.Option(help="The zone of times that state none: Europe/Berlin.", metavar="ZONE")
    ] = None,
    date_order: Annotated[
        DateOrderName | None, typer.Option(help="What stands first in dates such as 03/04/2026.")
    ] = None,
    kind: Annotated[KindName | None, typer.Option(help="The kind of query; by default aggregate.")] = None,
    connection: Annotated[
        str | None, typer.Option(help="The connection of a topic with HOST:PORT: TLS and SASL.", metavar="NAME")
    ] = None,
) -> None:
    """Write a commented query file that runs, from a sample of your own data; without SAMPLE a template of --kind.

    It reads the first records of SAMPLE and no more. On a terminal it asks for what the records don't show; elsewhere
    the options say it. No file is ever replaced.
    """
    from tailrace.advice.proposal import Choices

    if sample is None:
        if kind is None:
            raise refuse("SAMPLE", "it is missing", "a file of yours: tailrace init data.csv; or --kind aggregate")
        new(kind, output)
        return
    require_new(output)
    if timezone is not None:
        _require_zone(timezone)
    parts = {"event_time": event_time, "arrival_time": arrival_time, "id": id, "key": key, "value": value}
    columns = {part: name for part, name in parts.items() if name is not None}
    kind_name = KindName.aggregate.value if kind is None else kind.value
    choices = Choices(columns, kind_name, timezone, None if date_order is None else date_order.value)
    proposal = _propose(_sample(sample, connection), output, choices)
    _print(proposal)
    write_new(output, proposal.text)
    _print_next(output)


def is_interactive() -> bool:
    """Return whether a user can answer questions."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stdout is not None and sys.stdout.isatty()


def _sample(sample: str, connection: str | None) -> TableSample:
    from tailrace.advice.table_sample import sample_of, topic_sample

    if not sample.startswith(KAFKA):
        if is_url(sample):
            raise refuse(
                sample, "it is a URL", "a copy of some of its files on this machine; or kafka://HOST:PORT/TOPIC"
            )
        if connection is not None:
            raise refuse(f"--connection {connection}", f"{sample} is no topic", "kafka://HOST:PORT/TOPIC, or no option")
        return sample_of(Path(sample))
    cluster, _, topic = sample.removeprefix(KAFKA).partition("/")
    if not cluster or not topic:
        raise refuse(sample, "it names no topic of a cluster", "kafka://CONNECTION/TOPIC or kafka://HOST:PORT/TOPIC")
    access = {"servers": cluster} if ":" in cluster else {"connection": cluster}
    if connection is not None:
        access["connection"] = connection
    return topic_sample({"format": "kafka", **access, "topic": topic})


def _propose(sample: TableSample, output: Path, choices: Choices) -> QueryProposal:
    """Propose a query; on a terminal, ask for facts that the sample does not show."""
    from tailrace.advice.proposal import AmbiguousDates, propose

    try:
        proposal = propose(sample, output, choices)
    except AmbiguousDates as ambiguous:
        if not is_interactive():
            raise
        screen.out.print(ambiguous.problems[0].fault, markup=False)
        order = typer.prompt("what stands first, day or month", type=DateOrderName)
        choices = replace(choices, date_order=DateOrderName(order).value)
        proposal = propose(sample, output, choices)
    if proposal.draft.assumes_zone and is_interactive():
        screen.out.print(proposal.draft.without_zone, markup=False)
        zone = typer.prompt("the zone of the clocks that wrote them, as Europe/Berlin or UTC", value_proc=_require_zone)
        proposal = propose(sample, output, replace(choices, timezone=zone))
    return proposal


def _require_zone(name: str) -> str:
    """Return the name of a time zone; refuse any other."""
    from pydantic import TypeAdapter, ValidationError

    from tailrace.ground.fields import TimeZone

    try:
        return str(TypeAdapter(TimeZone).validate_python(name))
    except ValidationError as error:
        context = error.errors()[0].get("ctx", {})
        raise refuse("--timezone", str(context.get("fault")), str(context.get("remedy"))) from None


def _print(proposal: QueryProposal) -> None:
    """Print the findings; the first line has the worst doubt."""
    doubts = [*proposal.doubts()]
    for doubt in doubts:
        screen.out.print(f"attention: {doubt}", markup=False, soft_wrap=True)
    if not doubts:
        screen.out.print("nothing doubtful was found", markup=False)
    screen.out.print(f"looked at {proposal.draft.sample.extent}", markup=False, soft_wrap=True)
    for finding in proposal.findings():
        screen.out.print(finding, markup=False, soft_wrap=True)


def _print_next(output: Path) -> None:
    file = shlex.quote(str(output))
    screen.out.print(f"wrote {output}. Next:", markup=False, soft_wrap=True)
    for command in (
        f"run {file} --engine local --warehouse warehouse --bounded --correct",
        f"results {file} --warehouse warehouse",
    ):
        screen.out.print(f"  tailrace {command}", markup=False, soft_wrap=True)
