"""The picture of a query, for notebooks and files."""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from tailrace.api.picture import draw
from tailrace.api.shown_panels import ShownPanels
from tailrace.api.why_none import why_no_answers
from tailrace.ground.errors import refuse
from tailrace.ground.extras import require_extra
from tailrace.panels.query_view import DeclaredView
from tailrace.query.query import Query
from tailrace.storage.answer_range import AnswerRange
from tailrace.storage.checkpoint import require_begun
from tailrace.storage.layout import Layout
from tailrace.terminal.output_file import open_output

PICTURES = ("png", "svg", "pdf")
"""The formats of a picture, by the suffix of its file."""


@dataclass(frozen=True)
class Picture:
    """The picture of a query: frontier and K, promise and measured errors, answers, late tuples."""

    shown: ShownPanels

    def save(self, path: str | Path) -> Path:
        """Write the picture to a file: .png, .svg or .pdf; return the file."""
        target = Path(path)
        form = picture_form(target)
        with open_output(target) as file:
            self.write(file, form)
        return target

    def write(self, file: BinaryIO, form: str = "png") -> None:
        """Write the picture to an open file."""
        draw(self.shown, file, form)

    def __repr__(self) -> str:
        return f"<picture of {self.shown.name}>"

    def _repr_png_(self) -> bytes:
        content = BytesIO()
        self.write(content)
        return content.getvalue()


def picture_form(target: Path) -> str:
    """Return the format of a picture by its file's suffix.

    Raises
    ------
    Refused
        When the suffix is not a picture's.
    """
    form = target.suffix.lower().removeprefix(".")
    if form not in PICTURES:
        remedy = " or ".join(f".{each}" for each in PICTURES)
        raise refuse(f"--output {target}", "its name says no form of picture", remedy)
    return form


def read_picture(query: Query, layout: Layout, start: int | None, end: int | None, key: str | None) -> Picture:
    """Read the data of a query's picture, over (start, end] in ms of arrival and of event time.

    Raises
    ------
    Refused
        When matplotlib is not installed, the range is empty, the query never ran here, or the key has no answers.
    """
    require_drawable(start, end)
    view = DeclaredView(layout, None, query)
    require_begun(view.tables, query)
    shown = ShownPanels.read(view, start, end, key)
    if key is not None and not shown.answers.rows and not shown.answers.damaged:
        why = why_no_answers(layout, AnswerRange(key=key))
        raise refuse(f"--key {key}", why, "a key that tailrace results shows; or no --key")
    return Picture(shown)


def require_drawable(start: int | None, end: int | None) -> None:
    """Refuse to draw without matplotlib, and to draw an empty range."""
    require_extra("tailrace plot", "plots")
    if start is not None and end is not None and start >= end:
        raise refuse("--from, --to", "the range is empty", "--from before --to")
