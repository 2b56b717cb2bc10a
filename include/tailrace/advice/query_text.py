"""Writes a commented query file for a sample, given its columns and the delays of its records."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from tailrace.advice.column_names import MONEY, has_name
from tailrace.advice.column_profile import ColumnProfile
from tailrace.advice.delay_profile import SHARES, DelayProfile, rounded_up
from tailrace.advice.quoting import quoted, scalar, shown
from tailrace.advice.record_id import RecordId
from tailrace.advice.roles import Roles
from tailrace.advice.table_sample import TableSample
from tailrace.ground.duration import format_duration, format_time, ms
from tailrace.ground.fields import EPOCH
from tailrace.query.sections import Bounds

ASSUMED = "ASSUMED"
"""Marks a line of a query file with an assumption that the sample does not confirm."""

KINDS = ("aggregate", "topk")
"""The kinds for which a sample of one stream suffices."""

EARLIEST_MS = ms(Bounds().earliest - EPOCH)
"""The default of the earliest accepted event time."""

STREAM = "records"
"""The name of the stream in the query."""

_DAY_MS = 86_400_000
_WINDOWS_MS = (100, 1000, 10_000, 60_000, 300_000, 900_000, 3_600_000, 21_600_000, _DAY_MS)
_WINDOWS_OF_SAMPLE = 20
_RECORDS_OF_ANSWER = 4
_OF_FILE = "  # one file; if more will come, name a directory with all of them, from the first run on"
_LONGEST_SLACK_MS = 7 * 86_400_000
_MOST_COLUMNS = 60
_MOST_OTHERS = 8
_TIMES = ("event_time", "arrival_time")
_FIRST_YEAR = 1678  # suffix of the columns with times that are read from texts


@dataclass(frozen=True)
class QueryText:
    """The content of a query file.

    Attributes
    ----------
    timezone : str or None
        The user's zone for times without one; None: unknown, and assumed to be UTC.
    record_id : RecordId or None
        The derived id; None if a column, or the source itself, identifies the records.
    profile : DelayProfile or None
        None before records were checked.
    """

    sample: TableSample
    roles: Roles
    kind: str
    file: Path
    timezone: str | None
    record_id: RecordId | None
    columns: Mapping[str, ColumnProfile]

    @property
    def assumes_zone(self) -> bool:
        """Whether some times have no zone, and the user has not stated one."""
        return self.timezone is None and self._has_local_times

    @property
    def without_zone(self) -> str:
        """The times without a zone, in words."""
        columns = [column for part in _TIMES if (column := self.roles.column(part)) is not None]
        local = {column.name: column.time for column in columns if column.time is not None and column.time.is_local}
        is_mixed = any(time.is_mixed for time in local.values())
        if not is_mixed and len(local) == len(columns):
            return "the times state no zone"
        names = " and ".join(shown(name, 40) for name in local)
        return f"{'some' if is_mixed else 'the'} times of {names} state no zone"

    def text(self, profile: DelayProfile | None = None) -> str:
        """Return the text of the file; without a profile, it accepts any time and does not wait."""
        return "\n".join([*self._head(), *self._stream(profile), *self._windows(profile), *self._answers()]) + "\n"

    @property
    def _has_local_times(self) -> bool:
        """Whether event or arrival times have no zone."""
        return self._is_local("event_time") or self._is_local("arrival_time")

    def _is_local(self, part: str) -> bool:
        column = self.roles.column(part)
        return column is not None and column.time is not None and column.time.is_local

    def _head(self) -> Iterator[str]:
        yield f"# Written by tailrace init from {shown(self.sample.extent, 200)}. Its columns:"
        for column in [*self.columns.values()][:_MOST_COLUMNS]:
            yield f"#   {column.line()}"
        yield f"name: {query_name(Path(self.sample.place).stem)}"
        yield f"kind: {self.kind}"
        yield "streams:"

    def _stream(self, profile: DelayProfile | None) -> Iterator[str]:
        yield f"  {STREAM}:"
        yield "    source:"
        for name, value in self.sample.source.items():
            at = os.path.relpath(value, self.file.absolute().parent) if name == "path" else value
            is_file = name == "path" and Path(value).is_file()
            yield f"      {name}: {scalar(at)}{_OF_FILE if is_file else ''}"
        yield f"    event_time: {scalar(self._name_of('event_time'))}  # {self._reason('event_time')}"
        yield from self._arrival()
        if self.roles.column("id") is not None:
            yield f"    id: {scalar(self._name_of('id'))}  # {self._reason('id')}"
        elif self.record_id is not None:
            yield f"    id: {scalar(self.record_id.name)}  # {self.record_id.reason}"
            if self.record_id.others:
                yield f"    # other columns that could be the id: {_with_values(self.record_id.others)}"
        if self.roles.column("key") is not None:
            yield f"    key: {scalar(self._name_of('key'))}  # {self._reason('key')}; a list groups by several columns"
            if others := self.roles.parts["key"].others:
                yield f"    # other columns that could be keys: {_with_values(others)}"
        if derived := dict(self._derived()):
            yield "    columns:  # by Spark SQL's expressions"
            if self.roles.column("value") is not None and self._is_derived("value"):
                yield "      # A record whose text is no number goes to quarantine, and counts in no answer;"
                yield "      # with try_cast in place of cast it has no number, and is counted."
            yield from (f"      {name}: {scalar(expression)}" for name, expression in derived.items())
        yield from self._zone()
        if profile is None or profile.first < EARLIEST_MS:
            year = _FIRST_YEAR if profile is None else format_time(profile.first)[:4]
            yield f"    bounds: {{earliest: '{year}-01-01'}}  # earlier times go to quarantine"
        yield "    # where: CONDITION  # a record for which it is false or null is left out"

    def _arrival(self) -> Iterator[str]:
        if self.roles.column("arrival_time") is not None:
            yield f"    arrival_time: {scalar(self._name_of('arrival_time'))}  # {self._reason('arrival_time')}"
        elif "arrival_time" not in self.sample.own:
            yield "    # No column of arrival times: a record arrives when it is read, records of one look together."
            yield "    # So a first run over what is there has no late records; what later files bring may be late."
            yield "    # arrival_time: COLUMN"

    def _derived(self) -> Iterator[tuple[str, str]]:
        """Yield the derived columns: times that a source can't read directly, numbers among texts, and the id."""
        for part in _TIMES:
            column = self.roles.column(part)
            expression = column and column.time and column.time.expression(column.name)
            if expression:
                yield self._name_of(part), expression
        if self.roles.column("value") is not None and self._is_derived("value"):
            dtype = "double" if self._cents is None else f"decimal(18, {self._cents})"
            yield self._name_of("value"), f"cast({quoted(self.roles.parts['value'].column.name)} as {dtype})"
        if self.record_id is not None and self.roles.column("id") is None:
            yield self.record_id.name, self.record_id.expression

    def _zone(self) -> Iterator[str]:
        if self.assumes_zone:
            yield f"    timezone: UTC  # {ASSUMED}: {self.without_zone}. Write the zone of the clocks, as Europe/Berlin"
        elif self._has_local_times:
            yield f"    timezone: {self.timezone}  # of times that state none"

    def _windows(self, profile: DelayProfile | None) -> Iterator[str]:
        key = self.roles.column("key")
        size = 3_600_000 if profile is None else window_ms(profile, 1 if key is None else key.distinct)
        zone = self.timezone if self._has_local_times else None
        day = f"{{size: 1 d, timezone: {zone or 'Europe/Berlin'}}}"
        window = day if size == _DAY_MS and zone is not None else format_duration(size)
        yield f"window: {window}  # or {{size: 1 h, slide: 5 min}}; by a calendar {day}, or 1 month"
        slack, share = (0, 0.0) if profile is None else chosen_slack(profile)
        if slack:
            yield f"# In the sample at most {share:.0%} of the records come after a window has waited so long for them."
            yield f"disorder: {{policy: k_slack, k: {format_duration(slack)}}}"
        else:
            yield "disorder: {policy: none}  # windows do not wait; these would: {policy: k_slack, k: 1 min}"
        if self.kind == "aggregate":
            yield "# Or a promise, for which tailrace finds the wait: {policy: quantile, error: 0.05, risk: 0.05}"

    def _answers(self) -> Iterator[str]:
        has_value = self.roles.column("value") is not None
        name = scalar(self._name_of("value")) if has_value else ""
        if self.kind == "topk":
            yield "topk:"
            yield "  k: 5"
            yield f"  score: {name}  # {self._reason('value')}"
            return
        yield "aggregate:  # answers have columns of these names"
        yield "  records: {function: count}"
        if not has_value:
            return
        if self._cents is not None:
            column = shown(self.roles.parts["value"].column.name, 40)
            yield f"  # {column} looks like money: a sum of decimals is exact to the last digit, one of doubles is not."
        of_money = self._cents is not None or self._is_exact_money
        yield "  total:" if of_money else "  mean:"
        yield f"    function: {'sum' if of_money else 'avg'}"
        yield f"    column: {name}  # {self._reason('value')}"
        if others := self.roles.parts["value"].others:
            yield f"  # other columns of numbers: {_with_values(others)}"

    @property
    def _cents(self) -> int | None:
        """The digits after the point of an amount of money that is summed as a decimal; None for other numbers."""
        return self.roles.parts["value"].column.money if self.kind == "aggregate" else None

    @property
    def _is_exact_money(self) -> bool:
        """Whether the value is an amount of money in a type whose sums are exact."""
        column = self.roles.parts["value"].column
        return has_name(column.name, MONEY) and (pa.types.is_integer(column.dtype) or pa.types.is_decimal(column.dtype))

    def _is_derived(self, part: str) -> bool:
        column = self.roles.parts[part].column
        if part == "value":
            return self._cents is not None or (column.is_named and column.numbers < 1)
        return column.time is not None and column.time.read_by is not None

    def _name_of(self, part: str) -> str:
        """Return the query's name for the column of a part: the sample's column, or a derived one."""
        name = self.roles.parts[part].column.name
        if part in ("id", "key") or not self._is_derived(part):
            return name
        if part == "value":
            return free_name("number" if self._cents is None else "money", self.columns)
        return free_name(f"{part.partition('_')[0]}_at", self.columns)

    def _reason(self, part: str) -> str:
        return shown(self.roles.parts[part].reason, 160)


def _with_values(others: Sequence[ColumnProfile]) -> str:
    """Return columns with their numbers of values, in words."""
    named = [f"{shown(each.name, 40)} ({each.distinct:,} values)" for each in others[:_MOST_OTHERS]]
    return ", ".join([*named, "…"] if len(others) > _MOST_OTHERS else named)


def query_name(text: str) -> str:
    """Return a name for a query, similar to a text."""
    name = re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")
    return (name if name[:1].isalpha() else f"query_{name}".strip("_"))[:63]


def free_name(name: str, columns: Mapping[str, object]) -> str:
    """Return a name that no column has."""
    while name in columns:
        name += "_"
    return name


def window_ms(profile: DelayProfile, keys: int) -> int:
    """Return a window size of which a sample has about twenty; fewer if answers would have too few records."""
    span = profile.last - profile.first
    of_records = span * _RECORDS_OF_ANSWER * keys // len(profile.wait)
    most = max(span // _WINDOWS_OF_SAMPLE, min(of_records, span // 2))
    return max((size for size in _WINDOWS_MS if size <= most), default=_WINDOWS_MS[0])


def chosen_slack(profile: DelayProfile) -> tuple[int, float]:
    """Return the slack (ms) to write, and the share of records that may be late with it; 0 if all exceed a week."""
    for share in SHARES:
        if (slack := rounded_up(profile.slack_ms(share))) <= _LONGEST_SLACK_MS:
            return slack, share
    return 0, 1.0
