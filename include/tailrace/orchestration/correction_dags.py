"""DAG factory of corrections: one DAG correct_<query> for each declared query that has late tuples."""

from __future__ import annotations

from datetime import UTC, datetime

from airflow.sdk import DAG, AssetOrTimeSchedule, CronDataIntervalTimetable, Param

from tailrace.ground.duration import format_duration, ms
from tailrace.orchestration import assets, settings
from tailrace.orchestration.correction_operators import CorrectOperator, WaitOperator
from tailrace.orchestration.links import doc_line
from tailrace.orchestration.settings import Declared
from tailrace.orchestration.stream_dags import MEMORY, TASK_DEFAULTS
from tailrace.query.query import Query

MAX_WAITING = 500  # waiting runs hold no slot; a lower limit would skip intervals while a driver is down
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)  # arrival times may be old, and a backfill goes back as far
FORM = {
    "from": Param(
        None,
        type=["null", "string"],
        format="date-time",
        title="From",
        description="Event time: correct the closed windows that end after it. Empty: from the first one on.",
    ),
    "to": Param(
        None,
        type=["null", "string"],
        format="date-time",
        title="To",
        description="Event time: correct the closed windows that start before it. Empty: up to the last one.",
    ),
    "driver_memory": MEMORY,
}
_DOC = """
Corrects the answers of the query **{name}** (`{file}`): windows that late tuples missed get their next version.

| task | does |
| --- | --- |
| `wait` | waits until the stream has committed all that arrived before the end of the run's interval; see its log |
| `correct` | evaluates these windows again, over all that arrived before that end |

**By schedule** (`{schedule}`, UTC) a run takes the tuples that came late in its interval *of arrival*. A driver that
is down loses nothing: up to 500 runs wait for it, and a backfill makes up for skipped ones.
If the source is a past that was read to its end, its arrival times never reach the interval. Then the run is skipped,
with a line in its log.
{gap}
**By hand** a run corrects a range *of event time*, or all. **Intervals of the past**, in any order, also again:

    airflow backfill create --dag-id correct_{name} --from-date … --to-date … --reprocess-behavior completed

The DAG must not be paused for that. With `--reprocess-behavior none` only what is missing is run, as after a time when
Airflow itself was down. Run twice, a correction changes nothing.
"""
_GAP = """
**By itself** a run starts when the event times of late tuples that are not corrected yet span more than Γ ({gap}). The
asset `{name}.uncorrected` has an event then, which holds the range of arrival that the run corrects. Each such advance
has one event: the next one comes when as much has come late again, or when what was asked for is not corrected after a
quarter of an hour. Late tuples are known by panes, so Γ may count as exceeded up to two panes early. While this DAG is
paused nobody watches; what came late meanwhile is seen soon after it is unpaused, when Airflow has read the DAG again.
"""
_NO_GAP = """
**By itself** no run starts: the query declares no Γ, as `gap: 5 s` under `correction` would do.
"""


def correction_dags() -> dict[str, DAG]:
    """Return a DAG for each valid query file with late tuples, by DAG id; `refused_queries` reports refused files."""
    declarations = [each for each in settings.declared()[0] if each.query.has_late_tuples]
    return {f"correct_{declaration.query.name}": _dag(declaration) for declaration in declarations}


def _dag(declaration: Declared) -> DAG:
    name = declaration.query.name
    with DAG(
        dag_id=f"correct_{name}",
        description=f"Late tuples of {name}: the windows that they missed are corrected",
        schedule=_schedule(declaration.query),
        start_date=EPOCH,
        catchup=False,
        max_active_runs=MAX_WAITING,
        params=FORM,
        default_args=TASK_DEFAULTS,
        tags=["tailrace", "correction", declaration.query.kind, name],
        doc_md=_doc(declaration),
    ) as dag:
        wait = WaitOperator(task_id="wait", query=name, file=str(declaration.file))
        correct = CorrectOperator(
            task_id="correct",
            query=name,
            file=str(declaration.file),
            name=f"tailrace correct {name}",
            max_active_tis_per_dag=1,  # including backfills: the corrections' tables have one writer
            inlets=assets.tables(declaration.query, assets.CORRECTION_READS),
            outlets=assets.tables(declaration.query, assets.CORRECTION_WRITES),
        )
        wait >> correct
    return dag


def _schedule(query: Query) -> CronDataIntervalTimetable | AssetOrTimeSchedule:
    """Return the cron timetable, combined with the asset of uncorrected late tuples if Γ is declared."""
    by_time = CronDataIntervalTimetable(query.correction.schedule, timezone="UTC")
    gap = query.correction.gap
    if gap is None:
        return by_time
    return AssetOrTimeSchedule(timetable=by_time, assets=[assets.uncorrected(query, ms(gap))])


def _doc(declaration: Declared) -> str:
    name, correction = declaration.query.name, declaration.query.correction
    gap = _GAP.format(name=name, gap=format_duration(ms(correction.gap))) if correction.gap else _NO_GAP
    doc = _DOC.format(name=name, file=declaration.file.name, schedule=correction.schedule, gap=gap)
    return doc_line(name, "ledger") + doc
