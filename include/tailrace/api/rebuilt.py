"""The report of a rebuild."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailrace.ground import html
from tailrace.ground.files.object_path import on_disk
from tailrace.ground.words import counted
from tailrace.storage.layout import Layout
from tailrace.stream.planned_rebuild import Rebuild


@dataclass(frozen=True, repr=False)
class Rebuilt:
    """The report of a finished rebuild, of a dry run, or of an interrupted rebuild that took effect now.

    Attributes
    ----------
    changed : dict
        The fields whose values have changed, each with its values before and after.
    answers_again : bool
        Whether all answers are recomputed; otherwise answers and corrections stay unchanged.
    rows, batches, stored_rows : int
        The number of rows read, of batches, and of rows read from history.
    before : Path or None
        The folder with the replaced parts; None after a dry run.
    is_earlier : bool
        Whether only an earlier, interrupted rebuild took effect.
    """

    changed: dict[str, tuple[Any, Any]]
    answers_again: bool = False
    rows: int = 0
    batches: int = 0
    stored_rows: int = 0
    before: Path | None = None
    is_earlier: bool = False

    @staticmethod
    def from_plan(planned: Rebuild | None, layout: Layout, is_done: bool) -> Rebuilt:
        if planned is None:
            return Rebuilt({}, is_earlier=True)
        before = _newest_before(layout) if is_done else None
        return Rebuilt(
            dict(planned.changed), planned.answers_anew, planned.rows, planned.batches, planned.stored_rows, before
        )

    def lines(self) -> list[str]:
        """Describe the rebuild in words."""
        if self.is_earlier:
            return ["what an earlier rebuild had built is in force now; nothing else was rebuilt"]
        changes = [
            f"{name}: {'not set' if before is None else before} → {'not set' if after is None else after}"
            for name, (before, after) in self.changed.items()
        ]
        outcome = (
            "everything is answered again; results, late tuples, facts, corrections and qualities begin again, and the "
            "old ones are kept aside"
            if self.answers_again
            else "a new checkpoint; all answers and corrections stay as they are"
        )
        rows, batches = counted(self.rows, "row"), counted(self.batches, "batch", "batches")
        return [*changes, outcome, f"{rows} in {batches}, {self.stored_rows:,} of them from history"]

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        return html.named_texts({"rebuilt" if self.before else "rebuild": str(self)})

    def __repr__(self) -> str:
        return f"Rebuilt({'; '.join(self.lines())})"


def _newest_before(layout: Layout) -> Path:
    """Return the folder with the parts that the last rebuild replaced."""
    return max((on_disk(layout.home) / "_before").iterdir(), key=lambda path: int(path.name))
