"""DAG factory of rebuilds: one DAG rebuild_<query> for each declared query."""

from __future__ import annotations

from airflow.sdk import DAG, Param

from tailrace.orchestration import assets, settings
from tailrace.orchestration.links import doc_line
from tailrace.orchestration.rebuild_operator import RebuildOperator
from tailrace.orchestration.settings import Declared
from tailrace.orchestration.stream_dags import MEMORY, TASK_DEFAULTS

FORM = {
    "dry_run": Param(
        True,
        type="boolean",
        title="Dry run",
        description="Say what a rebuild would do, and write nothing. Without it the query is rebuilt.",
    ),
    "driver_memory": MEMORY,
}
_DOC = """
Builds the state of the query **{name}** (`{file}`) again, from its journal and history, as `tailrace rebuild` does:
after another parallelism, a lost checkpoint, or an upgrade. After another window, function or tick it answers
everything again, and keeps the old answers aside.

**By hand** alone, and as a **dry run** unless the form says otherwise: that writes nothing. The log of `rebuild` has
what would change, and how many rows that takes; the query's page shows it, too.

**Without Dry run** it rebuilds. Drain the stream first, and deploy it afterwards: while the query has a driver, a
rebuild is refused. What is built comes into force at the end; until then a run that fails, or is marked, leaves
everything as it was.
"""


def rebuild_dags() -> dict[str, DAG]:
    """Return a DAG for each valid query file, by DAG id; `refused_queries` reports the other files."""
    return {f"rebuild_{declaration.query.name}": _dag(declaration) for declaration in settings.declared()[0]}


def _dag(declaration: Declared) -> DAG:
    name = declaration.query.name
    with DAG(
        dag_id=f"rebuild_{name}",
        description=f"The state of {name} built again from history, or what that would do",
        schedule=None,
        catchup=False,
        max_active_runs=1,
        params=FORM,
        default_args=TASK_DEFAULTS,
        tags=["tailrace", "rebuild", declaration.query.kind, name],
        doc_md=doc_line(name, "settings") + _DOC.format(name=name, file=declaration.file.name),
    ) as dag:
        RebuildOperator(
            task_id="rebuild",
            query=name,
            file=str(declaration.file),
            name=f"tailrace rebuild {name}",
            inlets=assets.sources(declaration.query),
        )
    return dag
