"""DAG factory of calibrations: one DAG calibrate_<query> for each declared query that has late tuples."""

from __future__ import annotations

from datetime import UTC, datetime

from airflow.sdk import DAG, CronTriggerTimetable, DeltaTriggerTimetable, Param

from tailrace.disorder.cache_duration import CacheDuration
from tailrace.ground.duration import format_duration, ms
from tailrace.orchestration import assets, settings
from tailrace.orchestration.calibration_operators import CalibrateOperator
from tailrace.orchestration.links import doc_line
from tailrace.orchestration.settings import Declared
from tailrace.orchestration.stream_dags import MEMORY, TASK_DEFAULTS
from tailrace.query.query import Query

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_ACCEPT = {
    "accept": Param(
        None,
        type=["null", "string"],
        title="Accept the dry run",
        description="The id of a dry run of this DAG: propose what that one measured, and measure nothing.",
    )
}
_DOC = """
Measures, over the newest windows of the history of **{name}** (`{file}`), how accurate its answers would have been for
each of several waits K: against the exact answers of the same windows, late tuples included. The log of `calibrate`
has the table, and the evidence for what follows from it.

{policy}
"""
_WITH_PROPOSAL = """
The query's policy is `cache_duration`. **By schedule** ({schedule}) and by hand a run finds K, or makes one step of a
search for it, and writes what it finds to the table `proposals`; the running stream takes it up between two batches, as
a fact that holds from the next tick on (table `facts`). While there are too few windows yet, a scheduled run ends
without a proposal. With **Dry run** nothing is written; the query's page shows what was measured. **Accept** takes the
id of such a run, and proposes exactly what it measured, as long as the query is the same and no later calibration has
proposed.
"""
_WITHOUT_PROPOSAL = """
The query's policy is `{policy}`, which takes no proposal: runs are **by hand** only, and write nothing. The table shows
which K would keep an accuracy of 0.95. With `policy: cache_duration` the stream adopts the results of calibrations.
"""


def calibration_dags() -> dict[str, DAG]:
    """Return a DAG for each valid query file with late tuples, by DAG id; `refused_queries` reports refused files."""
    declarations = [each for each in settings.declared()[0] if each.query.has_late_tuples]
    return {f"calibrate_{declaration.query.name}": _dag(declaration) for declaration in declarations}


def _dag(declaration: Declared) -> DAG:
    name, policy = declaration.query.name, declaration.query.policy
    takes_proposals = isinstance(policy, CacheDuration)
    policy_text = (_WITH_PROPOSAL if takes_proposals else _WITHOUT_PROPOSAL).format(
        schedule=_schedule_text(declaration.query), policy=policy.policy
    )
    with DAG(
        dag_id=f"calibrate_{name}",
        description=f"How long {name} has to wait for late tuples: measured over its past",
        schedule=_schedule(declaration.query) if takes_proposals else None,
        start_date=EPOCH,
        catchup=False,
        max_active_runs=1,
        params={"dry_run": _dry_run(takes_proposals)}
        | (_ACCEPT if takes_proposals else {})
        | {"driver_memory": MEMORY},
        default_args=TASK_DEFAULTS,
        tags=["tailrace", "calibration", declaration.query.kind, name],
        doc_md=doc_line(name, "ledger")
        + _DOC.format(name=name, file=declaration.file.name, policy=policy_text.strip()),
    ) as dag:
        CalibrateOperator(
            task_id="calibrate",
            query=name,
            file=str(declaration.file),
            name=f"tailrace calibrate {name}",
            inlets=assets.tables(declaration.query, assets.CALIBRATION_READS),
            outlets=assets.tables(declaration.query, assets.CALIBRATION_WRITES) if takes_proposals else [],
        )
    return dag


def _schedule(query: Query) -> CronTriggerTimetable | DeltaTriggerTimetable:
    interval = query.calibration.interval(query.window_step)
    if interval is None:
        return CronTriggerTimetable(query.calibration.cron, timezone="UTC")
    return DeltaTriggerTimetable(interval)


def _schedule_text(query: Query) -> str:
    interval = query.calibration.interval(query.window_step)
    if interval is None:
        return f"`{query.calibration.cron}`, UTC"
    return f"every {query.calibration.every}, {format_duration(ms(interval))}"


def _dry_run(takes_proposals: bool) -> Param:
    if takes_proposals:
        return Param(False, type="boolean", title="Dry run", description="Measure, and write nothing.")
    description = "Measure, and write nothing: the query's policy takes no proposal."
    return Param(True, type="boolean", const=True, title="Dry run", description=description)
