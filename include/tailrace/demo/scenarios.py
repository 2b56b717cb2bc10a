"""How each query of the demonstration is run: what is streamed, corrected and compared, and what is told of it.

Each function returns the id of the stream's run, and True if all answers are right.
"""

from __future__ import annotations

from collections.abc import Callable

from tailrace.demo.demonstrated_query import DemoQuery
from tailrace.demo.generated_data import READINGS, TRADES
from tailrace.ground.duration import format_duration, ms

Tell = Callable[[str], None]
BACKFILL = ("2013-01-01T05:00:00+00:00", "2013-02-15T05:00:00+00:00")  # the half months of the sample's arrivals


def flights(demo_query: DemoQuery, tell: Tell) -> tuple[str, bool]:
    demo_query.unpause()
    path = demo_query.query.stream[1].path
    tell(f"[bold]stream_{demo_query.name}[/]: a replay of {path.name} in order of arrival")
    run = demo_query.stream()
    tell(f"[bold]correct_{demo_query.name}[/]: late tuples, by airflow backfill create")
    demo_query.backfill(*BACKFILL)
    tell("holding every answer against the truth")
    return run, demo_query.compare()


def game2(demo_query: DemoQuery, tell: Tell) -> tuple[str, bool]:
    demo_query.unpause()
    gap = demo_query.query.correction.gap
    assert gap is not None  # game2.yaml has it
    tell(f"[bold]stream_{demo_query.name}[/]: corrections start by themselves, at Γ = {format_duration(ms(gap))}")
    return _stream_and_correct(demo_query, tell)


def delays(demo_query: DemoQuery, tell: Tell) -> tuple[str, bool]:
    demo_query.unpause()
    tell(f"[bold]stream_{demo_query.name}[/]: the most delayed departures, which are known last")
    return _stream_and_correct(demo_query, tell)


def trades(demo_query: DemoQuery, tell: Tell) -> tuple[str, bool]:
    demo_query.unpause()
    tell(f"[bold]stream_{demo_query.name}[/]: the largest trades; a calibration moves K on the way")
    return _stream_and_correct(demo_query, tell, READINGS[TRADES].rows // 3)


def copies(demo_query: DemoQuery, tell: Tell) -> tuple[str, bool]:
    demo_query.unpause()
    tell(
        f"[bold]stream_{demo_query.name}[/]: near-duplicate frames of a clip and of its darker copy, which comes later"
    )
    return _stream_and_correct(demo_query, tell)


def districts(demo_query: DemoQuery, tell: Tell) -> tuple[str, bool]:
    demo_query.unpause()
    tell(f"[bold]stream_{demo_query.name}[/]: the district of each fix of a fleet of taxis")
    run = demo_query.stream()
    tell("holding every answer against the truth")
    return run, demo_query.compare()


def meetings(demo_query: DemoQuery, tell: Tell) -> tuple[str, bool]:
    demo_query.unpause()
    tell(f"[bold]stream_{demo_query.name}[/]: taxis of two fleets that meet")
    return _stream_and_correct(demo_query, tell)


def _stream_and_correct(demo_query: DemoQuery, tell: Tell, calibrate_at: int | None = None) -> tuple[str, bool]:
    run = demo_query.stream(calibrate_at)
    demo_query.correct_the_rest()
    tell("holding every answer against the truth")
    return run, demo_query.compare()
