"""Plots as files, by matplotlib."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from tailrace.ground.extras import require_extra

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DPI = 110


class Figure:
    """Context manager for rows of plots, written to a file on exit without an error; needs the extra `plots`.

    If the first plot has no legend, one with its labels is drawn below all plots.

    Parameters
    ----------
    file : Path or file
        The file to write, as a PNG unless its name or `form` says otherwise.

    Raises
    ------
    Refused
        When matplotlib is not installed.
    """

    def __init__(
        self,
        file: Path | BinaryIO,
        plots: int = 1,
        rows: int = 1,
        height: float = 4.2,
        form: str | None = None,
    ) -> None:
        require_extra("--report", "plots")
        from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415 (an extra)
        from matplotlib.figure import Figure as Canvas  # noqa: PLC0415

        self.file, self.form = file, form
        self.figure = Canvas(figsize=(6.4 * plots, height * rows), layout="constrained", dpi=_DPI)
        FigureCanvasAgg(self.figure)
        self.axes = list(self.figure.subplots(rows, plots, squeeze=False).flat)

    def __enter__(self) -> list[Axes]:
        return self.axes

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            handles, labels = self.axes[0].get_legend_handles_labels()
            if handles and self.axes[0].get_legend() is None:
                self.figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), fontsize="small")
            self.figure.savefig(self.file, format=self.form)


def label(ax: Axes, title: str, x: str, y: str) -> None:
    """Set a plot's title and the labels of its axes, and draw a grid."""
    ax.set(title=title, xlabel=x, ylabel=y)
    ax.grid(alpha=0.3)
