"""The report of a correction: its changes, in numbers and in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tailrace.correction.correction_range import CorrectionRange
from tailrace.correction.repeated_ids import NOT_LOOKED_AT
from tailrace.engine.other_contents import RepeatedIds
from tailrace.ground import html
from tailrace.ground.words import counted, overflow_of
from tailrace.kind.failed_pairs import FailedPairs


@dataclass(frozen=True, repr=False)
class CorrectionReport:
    """Result of a correction: its cut-off, and the numbers of late tuples, corrected answers and retracted answers.

    `arrived_from` and `arrived_to` are as in `CorrectionRange.covered`: all late tuples of this interval are corrected.
    `lookups` has the versions of the tables in which the correction
    repeated lookups, by the lookups' names, as JSON.

    `changed` is the number of corrected answers that are new or differ from before. The others are written again: with
    a later `as_of` they take precedence over a correction with an earlier one that may still come. `recounted` of the
    changed answers only differ in their number of tuples, such as a ranking without the late tuple.

    `repeats` is the number of repeats of ids among the tuples of the answers that the stream wrote in the interval;
    None for a range of event time, in which they are not counted. `overflowed` is the number of values of corrected
    answers that are null because they overflow their type. `where_failed` is the number of pairs for which the
    condition of a join failed, and `where_failure` the reason for one of them.

    `other_contents` are the records of each stream in a range of event time that repeat an id with other content; None
    for a stream in which they are too many to read. The ledger has neither them nor `recounted`.
    """

    interval: CorrectionRange
    as_of: int
    late: int
    answers: int
    retracted: int
    arrived_from: int | None = None
    arrived_to: int | None = None
    repeats: int | None = None
    overflowed: int = 0
    where_failed: int = 0
    where_failure: str | None = None
    lookups: str | None = None
    changed: int | None = field(default=None, compare=False)  # a repeated correction changes nothing more
    other_contents: Sequence[RepeatedIds | None] | None = None
    recounted: int = field(default=0, compare=False)

    def lines(self) -> list[str]:
        """Describe the correction in lines: the number of changed answers, and warnings."""
        return [f"corrected {self.interval.words}: {self._counts}", *self._remarks()]

    @property
    def _counts(self) -> str:
        given, late = counted(self.answers, "answer"), counted(self.late, "late tuple")
        alone = f" ({self.recounted:,} only in the number of tuples)" if self.recounted else ""
        if not self.interval.arrival:  # these are corrected, before or now
            late += " since the stream began"
        counts = f"{self.changed or 0:,} of {given} changed{alone}, {self.retracted:,} taken back, {late}"
        if self.repeats:
            counts += f", {counted(self.repeats, 'repeat')} of ids"
        return f"{counts}, looked up in versions {self.lookups}" if self.lookups else counts

    def _remarks(self) -> Iterator[str]:
        for contents in self.other_contents or ():
            yield NOT_LOOKED_AT if contents is None else contents.words()
        if self.overflowed:
            yield f"warning: {overflow_of(self.overflowed)}"
        if self.where_failed:
            yield f"warning: {FailedPairs(self.where_failed, self.where_failure).warning}"

    def _repr_html_(self) -> str:
        return html.named_texts({"corrected": self.interval.words, "": "\n".join([self._counts, *self._remarks()])})

    def __repr__(self) -> str:
        return f"CorrectionReport({'; '.join(self.lines())})"
