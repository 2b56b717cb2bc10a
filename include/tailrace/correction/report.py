"""The report of a correction: what it has changed, in numbers and in words."""

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
    """Result of a correction: its cut-off, and the numbers of late tuples, corrected answers and retracted ones.

    `arrived_from` and `arrived_to` are as in `CorrectionRange.covered`: late tuples of this interval are corrected in
    whole. `repeats` is the number of repeats of ids among the tuples of the answers that the stream gave in the
    interval; None for a range of event time, where they are not counted. `overflowed` is the number of values of the
    corrected answers that are null as their type does not hold them. `where_failed` is the number of pairs for which
    the condition of a join failed, `where_failure` the reason of one. `lookups` has the versions of the tables in which
    the correction looked up again, by the lookups' names, as JSON. `changed` is the number of corrected answers that
    are new, or other ones than before; the others are given again, as with a later `as_of` they take precedence over
    what a correction with an earlier one may still give. Of `recounted` ones among them only the number of tuples
    changed, as of a ranking that a late tuple is not in. `other_contents` are the records of each stream in a range of
    event time that repeat an id with other content; None of a stream where they are too many to read. The ledger does
    not have them, nor `recounted`.
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
    changed: int | None = field(default=None, compare=False)  # a correction that is run again changes nothing more
    other_contents: Sequence[RepeatedIds | None] | None = None
    recounted: int = field(default=0, compare=False)

    def lines(self) -> list[str]:
        """Describe the correction in lines: how many answers it has changed, and warnings."""
        return [f"corrected {self.interval.words}: {self._counts}", *self._remarks()]

    @property
    def _counts(self) -> str:
        given, late = counted(self.answers, "answer"), counted(self.late, "late tuple")
        alone = f" ({self.recounted:,} only in the number of tuples)" if self.recounted else ""
        if not self.interval.arrival:  # corrected before or now
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
