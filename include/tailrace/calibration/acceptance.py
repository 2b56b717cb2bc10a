"""Acceptance of a calibration's dry run: its result is proposed without measuring again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from tailrace.calibration.report import CalibrationReport
from tailrace.disorder.cache_duration import CacheDuration
from tailrace.disorder.policies import policy_from_json
from tailrace.disorder.policy import SlackPolicy
from tailrace.ground.errors import refuse
from tailrace.query.late_tuples import require_late_tuples
from tailrace.query.query import Query
from tailrace.storage.checkpoint import readable
from tailrace.storage.layout import Layout
from tailrace.storage.opened_tables import OpenedTables
from tailrace.storage.proposals import Proposal, Proposals
from tailrace.storage.warehouses import Warehouse

_ANOTHER = "another dry run, and to accept that"
_ONE = "one that tailrace calibrate --dry-run --report has written"
_adapter = TypeAdapter(CalibrationReport)


def accept(query: Query, warehouse: Warehouse, report: CalibrationReport, where: str) -> CalibrationReport:
    """Propose the result of a dry run; accepting it twice changes nothing.

    Parameters
    ----------
    where : str
        The origin of the report, which refusals name.

    Raises
    ------
    Refused
        When the policy accepts no proposal, another calibration is running, or the report does not fit: it is from
        another query, checkpoint or settings, or not from a dry run, or a later calibration has proposed.
    """
    require_late_tuples(query)
    require_proposable(query.policy)
    layout = Layout.for_query(warehouse, query.name)
    proposals, accepted = Proposals(layout), replace(report, proposed=True)
    if readable(OpenedTables(layout), query) is None:
        raise refuse(str(layout.home), "the query has never run in this warehouse", "tailrace run, first")
    with layout.lock("calibration") as require_held:
        manifest = readable(OpenedTables(layout), query)  # a rebuild may have ended meanwhile
        if manifest is None:
            raise refuse(str(layout.home), "the query has no stream here any more", "tailrace run, first")
        newest = proposals.newest(query.policy)
        fault = misfit(report, query, manifest.id, newest)
        if fault is not None:
            raise refuse(where, fault, _ANOTHER)
        if newest is None or not is_of(newest, report):
            require_held()
            proposals.add(proposal_of(report, query.policy))
        return accepted


def misfit(report: CalibrationReport, query: Query, checkpoint: str, newest: Proposal | None) -> str | None:
    """Return why a report can no longer be accepted; None if it can, or equals the newest proposal."""
    return next(_misfits(report, query, checkpoint, newest), None)


def _misfits(report: CalibrationReport, query: Query, checkpoint: str, newest: Proposal | None) -> Iterator[str]:
    basis = report.basis
    if basis.query != query.name:
        yield f"it is of the query {basis.query}, not of {query.name}"
    if report.proposed is None:
        yield "it is of a policy that takes no proposal"
    if report.proposed:
        yield "it is of no dry run: that calibration has proposed what it found"
    if not _is_policy(basis.declared, query.policy):
        yield f"it measured for other settings of disorder than the query has now: {basis.declared}"
    if basis.checkpoint != checkpoint:
        yield "the stream was begun again since, or rebuilt with other answers"
    if newest is not None and newest.made_at != basis.previous and not is_of(newest, report):
        yield f"a later calibration has proposed since: {newest.evidence}"
    if newest is None and basis.previous is not None:
        yield "the proposal that it began with is gone"


def require_proposable(policy: SlackPolicy) -> CacheDuration:
    """Return a policy that takes proposals.

    Raises
    ------
    Refused
        For any other policy.
    """
    if not isinstance(policy, CacheDuration):
        remedy = "--dry-run, which shows what each K would give; or policy: cache_duration, which takes a proposal"
        raise refuse("disorder.policy", f"{policy.policy} takes no proposal", remedy)
    return policy


def proposal_of(report: CalibrationReport, policy: SlackPolicy) -> Proposal:
    """Return the proposal of a calibration, made now."""
    interval = report.next_interval
    return Proposal(
        int(datetime.now(UTC).timestamp() * 1000),
        policy.model_dump_json(),
        require_proposable(policy).waiting(interval.k_ms).model_dump_json(),
        interval.k_ms,
        interval.lower_ms,
        interval.upper_ms,
        tuple((row.duration_ms, row.accuracy) for row in report.measurements),
        report.windows,
        report.accuracy,
        report.basis.until,
        report.evidence,
    )


def to_json(report: CalibrationReport) -> bytes:
    """Return a report as JSON, which `report_of` reads back."""
    return _adapter.dump_json(report, indent=2)


def read_report(path: Path, where: str) -> CalibrationReport:
    """Read a report from a file, named `where` in refusals.

    Raises
    ------
    Refused
        When the file can't be read, or does not contain a calibration's report.
    """
    try:
        text = path.read_bytes()
    except OSError as error:
        raise refuse(where, f"it can't be read: {error.strerror}", _ONE) from None
    return report_of(text, where)


def report_of(value: str | bytes | Any, where: str) -> CalibrationReport:
    """Parse the report from a JSON text or its parsed value.

    Raises
    ------
    Refused
        When it is not a report; the refusal names `where`.
    """
    validate = _adapter.validate_json if isinstance(value, str | bytes) else _adapter.validate_python
    try:
        report = validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        fault = f"it is no report of a calibration: {field + ': ' if field else ''}{first['msg']}"
        raise refuse(where, fault, _ONE) from None
    if not _is_sound(report):
        raise refuse(where, "it is no report of a calibration: it has no measurement, or times that are none", _ONE)
    return report


def _is_sound(report: CalibrationReport) -> bool:
    """Test whether a report has measurements, and a plausible K and times, which the types alone do not ensure."""
    interval = report.next_interval
    try:
        is_stated = bool(report.measurements and report.evidence)
        timedelta(milliseconds=interval.upper_ms)
    except (ArithmeticError, ValueError):
        return False
    return is_stated and 0 <= interval.k_ms <= interval.upper_ms and interval.lower_ms <= interval.k_ms


def _is_policy(declared: str, policy: SlackPolicy) -> bool:
    try:
        return policy_from_json(declared) == policy
    except ValidationError:
        return False


def is_of(proposal: Proposal, report: CalibrationReport) -> bool:
    """Test whether a proposal equals a report, so that it was accepted before."""
    interval = report.next_interval
    ours = interval.k_ms, interval.lower_ms, interval.upper_ms, report.basis.until, report.evidence
    return ours == (proposal.k_ms, proposal.lower_ms, proposal.upper_ms, proposal.until, proposal.evidence)
