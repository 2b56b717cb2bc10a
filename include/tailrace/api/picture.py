"""Draws the picture of a query: four charts, with the data of the panels on its page."""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from tailrace.api.shown_panels import ShownPanels
from tailrace.ground.words import counted
from tailrace.panels.answers import AnswersShown
from tailrace.panels.frontier import FrontierAnswer
from tailrace.panels.late import LateAnswer
from tailrace.panels.promise import AnswerQuality, PromiseAnswer
from tailrace.terminal.plots import Figure, label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BLUE, _ORANGE, _GREEN, _RED, _GREY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#666666"
_COLOURS = (_BLUE, _RED, _GREEN, "#CC79A7", _ORANGE, "#56B4E9")  # Okabe and Ito's colours, also for the colour-blind
_DOTS = 60  # the most points of a series that are drawn as dots beside their line
_UNITS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1000, "s"), (1, "ms"))
_LONGEST_NAME = 40
_HEADROOM = 1.7  # the height of K's axis relative to the greatest K, as the legend is above the line
_ONE_BATCH = "One batch so far: points and no lines. Smaller ones, by --batch-rows, are more."
_HALF_HOUR = np.timedelta64(30, "m")


def draw(shown: ShownPanels, file: BinaryIO, form: str) -> None:
    """Draw the four charts into a file; needs the extra `plots`."""
    from matplotlib import rc_context  # noqa: PLC0415 (an extra)

    with rc_context({"text.parse_math": False}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)  # replaced by a box
        figure = Figure(file, 2, 2, form=form)  # titles use the setting at their creation
        promise_state = f"promise {shown.promise.word} ({shown.promise.detail})"
        figure.figure.suptitle(textwrap.fill(f"{shown.name}: {promise_state}", 150), fontsize="medium")
        with figure as (progress, promise, answers, late):
            _draw_progress(progress, shown.frontier)
            _draw_promise(promise, shown.promise)
            _draw_answers(answers, shown.answers, shown.key)
            _draw_late(late, shown.late)


def _draw_progress(ax: Axes, answer: FrontierAnswer) -> None:
    """Draw the frontier and the newest event time over arrival, K on a second axis, and changes of the settings."""
    series = answer.series
    label(ax, "Frontier and K", "arrival time (UTC)", "event time (UTC)")
    note = answer.note or (_ONE_BATCH if len(series.at) == 1 else None)
    if _is_empty(ax, series.frontier, note):
        return
    at = _times(series.at)
    ax.plot(at, _times(series.t_max), color=_GREY, lw=1, ls=":", label="newest event time", **_dots(at))
    ax.plot(at, _times(series.frontier), color=_BLUE, label="frontier", **_dots(at))
    for number, change in enumerate(change for change in answer.changes if change.at is not None):
        ax.axvline(_times([change.at])[0], color=_GREY, lw=0.6, ls="--", label=None if number else "settings changed")
    _date_axis(ax.yaxis)
    size_ms, unit = _unit(series.k_ms)
    k_axis = ax.twinx()
    k_axis.plot(at, _numbers(series.k_ms) / size_ms, color=_ORANGE, drawstyle="steps-post", label="K", **_dots(at))
    _date_axis(ax.xaxis, at)
    k_axis.set_ylabel(f"K ({unit})")
    k_axis.set_ylim(0, _HEADROOM * max(np.nanmax(_numbers(series.k_ms), initial=0) / size_ms, 1))
    (lines, names), (more_lines, more_names) = ax.get_legend_handles_labels(), k_axis.get_legend_handles_labels()
    ax.set_zorder(k_axis.get_zorder() + 1)  # the legend above all lines
    ax.patch.set_visible(False)
    ax.legend(lines + more_lines, names + more_names, fontsize="small", loc="upper left")


def _draw_promise(ax: Axes, answer: PromiseAnswer) -> None:
    """Draw the measured errors of each column of answers over event time, and the promise as a dashed line."""
    is_accuracy = any(each.accuracy is not None for each in answer.answers)
    is_share = not is_accuracy and any(each.risk is not None for each in answer.answers)
    errors = sorted({f"{each.error:g}" for each in answer.answers if each.error is not None})
    what = f"share off by {' or '.join(errors)} or more" if is_share else "accuracy" if is_accuracy else "mean error"
    label(ax, f"Promise: {answer.word}", "event time (UTC)", what)
    drawn = answer.answers[: len(_COLOURS)]
    measured = [_measured(each, is_accuracy, is_share) for each in drawn]
    if _is_empty(ax, [value for values in measured for value in values if np.isfinite(value)], answer.note):
        return
    at = np.concatenate([_times(each.series.end) for each in drawn])
    for colour, each, values in zip(_COLOURS, drawn, measured, strict=False):
        ends, name = _times(each.series.end), _short(each.answer or "measured")
        ax.plot(ends, values, color=colour, label=name, clip_on=False, **_dots(ends))  # 0 is on the edge
    promises = {each.accuracy if is_accuracy else each.risk for each in drawn}
    for promised in sorted(each for each in promises if each is not None):
        text = f"promised: {promised:g} at {'least' if is_accuracy else 'most'}"
        ax.axhline(promised, color=_GREY, ls="--", label=text)
        ax.axhspan(promised if is_accuracy else 0, 1 if is_accuracy else promised, color=_GREEN, alpha=0.1)
    if not is_accuracy:
        ax.set_ylim(bottom=0)
    _date_axis(ax.xaxis, at)
    ax.legend(fontsize="small")


def _measured(each: AnswerQuality, is_accuracy: bool, is_share: bool) -> NDArray[np.float64]:
    if is_share:
        return _numbers(each.series.share)
    return 1 - _numbers(each.series.mean_error) if is_accuracy else _numbers(each.series.mean_error)


def _draw_answers(ax: Axes, answer: AnswersShown, key: str | None) -> None:
    """Draw the numbers of one key, as streamed and as corrected; without a key, the share of right answers."""
    chart = answer.chart
    if chart is None:
        label(ax, "Answers that were right", "arrival time (UTC)", "share")
        if _is_empty(ax, answer.right.at, answer.note):
            return
        at = _times(answer.right.at)
        ax.plot(at, _numbers(answer.right.share), color=_GREEN, drawstyle="steps-post", **_dots(at))
        from matplotlib.ticker import PercentFormatter  # noqa: PLC0415 (an extra)

        ax.yaxis.set_major_formatter(PercentFormatter(1))
        ax.set_ylim(0, 1.05)
        _date_axis(ax.xaxis, at)
        return
    of_key = "" if key is None else f" of {_short(key)}"
    label(ax, f"Answers{of_key}", "event time: end of the window (UTC)", "")
    if _is_empty(ax, chart.at, answer.note):
        return
    at = _times(chart.at)
    for colour, series in zip(_COLOURS, chart.series, strict=False):
        name = _short(series.name)
        ax.plot(at, _numbers(series.latest), color=colour, label=f"{name}, as corrected")
        ax.plot(at, _numbers(series.streamed), color=colour, ls="none", marker=".", ms=4, label=f"{name}, as streamed")
    _date_axis(ax.xaxis, at)
    ax.legend(fontsize="small")


def _draw_late(ax: Axes, answer: LateAnswer) -> None:
    """Draw the number of late tuples by arrival."""
    title = counted(answer.late_rows, "late tuple")
    title += f", {answer.uncorrected_rows:,} not corrected" if answer.uncorrected_rows else ""
    label(ax, title, "arrival time (UTC)", "late tuples")
    if _is_empty(ax, answer.series.at, answer.note):
        return
    at = _times(answer.series.at)
    ax.vlines(at, 0, _numbers(answer.series.late), color=_RED, lw=1.5)
    ax.set_ylim(0, None if answer.late_rows else 1)
    _date_axis(ax.xaxis, at)


def _is_empty(ax: Axes, values: Sequence[object], note: str | None) -> bool:
    """Draw a chart's note, in place of its values or below them; return whether there are no values."""
    if any(value is not None for value in values):
        if note:
            ax.set_xlabel(f"{ax.get_xlabel()}\n{textwrap.fill(note, 90)}", fontsize="small")
        return False
    ax.text(0.5, 0.5, textwrap.fill(note or "nothing here", 50), transform=ax.transAxes, ha="center", va="center")
    ax.set(xticks=[], yticks=[])
    return True


def _times(values: Sequence[int | None]) -> NDArray[np.datetime64]:
    """Convert epoch milliseconds for matplotlib; NaT for unknown times."""
    return np.array(["NaT" if value is None else np.datetime64(value, "ms") for value in values], "datetime64[ms]")


def _numbers(values: Sequence[float | None]) -> NDArray[np.float64]:
    return np.array([np.nan if value is None else value for value in values], np.float64)


def _dots(at: NDArray[np.datetime64]) -> dict[str, Any]:
    """Return the style of a line's points: dots if they are few, a large one for a single point."""
    if len(at) == 1:
        return {"marker": "o", "ms": 8}
    return {"marker": "."} if len(at) <= _DOTS else {}


def _unit(values: Sequence[int | None]) -> tuple[int, str]:
    """Return the size (ms) and name of a unit in which the durations are small numbers."""
    greatest = max((value for value in values if value is not None), default=0)
    return next(((size, name) for size, name in _UNITS if greatest >= 2 * size), (1, "ms"))


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_NAME else f"{text[: _LONGEST_NAME - 1]}…"


def _date_axis(axis: Any, times: NDArray[np.datetime64] | None = None) -> None:
    """Show dates and times on an axis as shortly as their range allows; a single time gets an hour around it."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter  # noqa: PLC0415 (an extra)

    locator = AutoDateLocator()  # type: ignore[no-untyped-call]
    axis.set_major_locator(locator)
    axis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
    if times is not None and len(times) and times.min() == times.max():
        axis.axes.set_xlim(times[0] - _HALF_HOUR, times[0] + _HALF_HOUR)
