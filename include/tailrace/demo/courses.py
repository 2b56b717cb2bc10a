"""How each query of the demonstration is run: what is streamed, corrected and compared, and what is told of it.

Each function returns the id of the stream's run, and True if all answers are right.
"""

from __future__ import annotations

from collections.abc import Callable

from tailrace.demo.generated_data import READINGS, TRADES
from tailrace.demo.scenes import Scene
from tailrace.ground.duration import format_duration, ms

Tell = Callable[[str], None]
BACKFILL = ("2013-01-01T05:00:00+00:00", "2013-02-15T05:00:00+00:00")  # the half months of the sample's arrivals


def flights(scene: Scene, tell: Tell) -> tuple[str, bool]:
    scene.unpause()
    path = scene.query.stream[1].path
    tell(f"[bold]stream_{scene.name}[/]: a replay of {path.name} in order of arrival")
    run = scene.stream()
    tell(f"[bold]correct_{scene.name}[/]: late tuples, by airflow backfill create")
    scene.backfill(*BACKFILL)
    tell("holding every answer against the truth")
    return run, scene.compare()


def game2(scene: Scene, tell: Tell) -> tuple[str, bool]:
    scene.unpause()
    gap = scene.query.correction.gap
    assert gap is not None  # game2.yaml has it
    tell(f"[bold]stream_{scene.name}[/]: corrections start by themselves, at Γ = {format_duration(ms(gap))}")
    return _stream_and_correct(scene, tell)


def delays(scene: Scene, tell: Tell) -> tuple[str, bool]:
    scene.unpause()
    tell(f"[bold]stream_{scene.name}[/]: the most delayed departures, which are known last")
    return _stream_and_correct(scene, tell)


def trades(scene: Scene, tell: Tell) -> tuple[str, bool]:
    scene.unpause()
    tell(f"[bold]stream_{scene.name}[/]: the largest trades; a calibration moves K on the way")
    return _stream_and_correct(scene, tell, READINGS[TRADES].rows // 3)


def copies(scene: Scene, tell: Tell) -> tuple[str, bool]:
    scene.unpause()
    tell(f"[bold]stream_{scene.name}[/]: near-duplicate frames of a clip and of its darker copy, which comes later")
    return _stream_and_correct(scene, tell)


def districts(scene: Scene, tell: Tell) -> tuple[str, bool]:
    scene.unpause()
    tell(f"[bold]stream_{scene.name}[/]: the district of each fix of a fleet of taxis")
    run = scene.stream()
    tell("holding every answer against the truth")
    return run, scene.compare()


def meetings(scene: Scene, tell: Tell) -> tuple[str, bool]:
    scene.unpause()
    tell(f"[bold]stream_{scene.name}[/]: taxis of two fleets that meet")
    return _stream_and_correct(scene, tell)


def _stream_and_correct(scene: Scene, tell: Tell, calibrate_at: int | None = None) -> tuple[str, bool]:
    run = scene.stream(calibrate_at)
    scene.correct_the_rest()
    tell("holding every answer against the truth")
    return run, scene.compare()
