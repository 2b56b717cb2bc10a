"""DAG factory of live streams: one DAG stream_<query> for each declared query."""

from __future__ import annotations

from datetime import timedelta

from airflow.sdk import DAG, Param

from tailrace.orchestration import assets, settings, submit
from tailrace.orchestration.drain_operator import DrainOperator
from tailrace.orchestration.failure_reason import store_reason
from tailrace.orchestration.links import doc_line
from tailrace.orchestration.settings import Declared
from tailrace.orchestration.stream_operators import CheckOperator, DeployOperator, SuperviseOperator
from tailrace.orchestration.submit import Options

TASK_DEFAULTS = {
    "retries": 3,
    "retry_delay": timedelta(seconds=10),
    "retry_exponential_backoff": 2.0,
    "max_retry_delay": timedelta(minutes=10),
    "on_failure_callback": store_reason,
}
"""Arguments of every task of our DAGs."""
MEMORY = Param(
    Options.driver_memory,
    type="string",
    pattern=submit.MEMORY,
    title="Memory of the driver",
    description=f"Heap of the driver's JVM, {submit.MEMORY_WORDS}: 2g. Python's workers need as much again beside it.",
)
FORM = {
    "batch_rows": Param(
        Options.batch_rows,
        type="integer",
        minimum=1,
        maximum=100_000_000,
        title="Rows of a batch",
        description="At most so many rows make a batch. No answer depends on it; fewer need less memory.",
    ),
    "restarts": Param(
        Options.restarts,
        type="integer",
        minimum=0,
        maximum=100,
        title="Restarts",
        description="A driver that dies is started again, with growing pauses. More often than this within the time "
        "below is a crash loop, and fails the task.",
    ),
    "within_s": Param(
        Options.within_s,
        type="integer",
        minimum=10,
        maximum=86_400,
        title="… within seconds",
        description="The time over which restarts are counted.",
    ),
    "hang_after_s": Param(
        60,
        type="integer",
        minimum=10,
        maximum=3600,
        title="Hangs after seconds",
        description="A driver that has said nothing for so long is killed, and another one takes its place. So is one "
        "that ends no batch for so long, and for five times as long as its batches took.",
    ),
    "driver_memory": MEMORY,
}
_DOC = """
Runs the query **{name}** (`{file}`) as a live stream.

| task | does |
| --- | --- |
| `check` | refuses a wrong query, one that its checkpoint does not fit any more, a missing warehouse or driver host |
| `deploy` | gets the query's driver from the driver host, or makes it: there is only ever one |
| `supervise` | watches it from the triggerer, without a worker slot, until the stream ends |
| `drain` | sees to it that the driver is gone, after someone marked `supervise` |

**To end the stream**, mark `supervise` (or the run) as success or failed: its driver finishes its batch and is gone
within a minute. What is open stays open, and the next run goes on from there. **To watch it again**, clear `supervise`:
the driver is not touched. **A second run**, however it is triggered, is skipped while another one watches the stream:
its first line names that run, and the driver is not touched.

An edit of the query file comes into force by a deployment: end the stream, and trigger this DAG again. Until then the
driver runs what was deployed, also after a restart, and the log of `supervise` says in what the file differs.

How it stands is in the log of `supervise`: what is wrong comes first, each thing once and at WARNING, and when it is
over; then what has changed, every minute. A source whose columns don't fit any more ends the driver after a minute, and
fails `supervise`; records that are rejected one by one end nothing, and are warned of. {late}
"""
_LATE = "What comes late is corrected by\n`correct_{name}`."
_NO_LATE = "No tuple is late: each is\nanswered as it comes, by the version of the table that is in force then."


def stream_dags() -> dict[str, DAG]:
    """Return a DAG for each valid query file, by DAG id; `refused_queries` reports the other files."""
    return {f"stream_{declaration.query.name}": _dag(declaration) for declaration in settings.declared()[0]}


def _dag(declaration: Declared) -> DAG:
    name, late = declaration.query.name, _LATE if declaration.query.has_late_tuples else _NO_LATE
    with DAG(
        dag_id=f"stream_{name}",
        description=f"The live stream of {name}: deployed, watched, drained",
        schedule=None,
        catchup=False,
        params=FORM,
        default_args=TASK_DEFAULTS,
        tags=["tailrace", "stream", declaration.query.kind, name],
        doc_md=doc_line(name, "frontier")
        + _DOC.format(name=name, file=declaration.file.name, late=late.format(name=name)),
    ) as dag:
        arguments = {"query": name, "file": str(declaration.file)}
        check = CheckOperator(task_id="check", **arguments)
        deploy = DeployOperator(task_id="deploy", **arguments)
        supervise = SuperviseOperator(
            task_id="supervise",
            inlets=assets.sources(declaration.query),
            outlets=assets.tables(declaration.query, assets.STREAM_WRITES),
            **arguments,
        )
        drain = DrainOperator(task_id="drain", **arguments)
        check >> deploy >> supervise >> drain.as_teardown(setups=deploy)
    return dag
