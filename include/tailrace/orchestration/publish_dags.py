"""DAG factory of publications: one DAG publish_<query> for each declared query."""

from __future__ import annotations

from airflow.sdk import DAG

from tailrace.ground.duration import format_duration
from tailrace.orchestration import assets, settings
from tailrace.orchestration.commit_trigger import INTERVAL_S
from tailrace.orchestration.links import doc_line
from tailrace.orchestration.publish_operator import PublishOperator
from tailrace.orchestration.settings import Declared
from tailrace.orchestration.stream_dags import TASK_DEFAULTS

_DOC = """
Publishes new answers of the query **{name}** (`{file}`) while its stream lives, as events of the assets {assets}. A DAG
that is scheduled on one of them runs when there is something new, at most once in {interval}. An event of a place, as
`{name}.current`, comes once the place has the answers. An event's `extra` has

| key | holds |
| --- | --- |
| `query` | {name} |
| `rows`, `total_rows` | rows that the table has gained since the event before, and has; of a place, of both tables |
| `as_of` | the point of arrival time up to which its newest answers count what had come |
| `coverage` | the share of the tuples that came in time |
| `committed` | the arrival time up to which everything was taken in |
| `promise`, `promise_detail` | `kept` or `broken` by the newest measured errors, or `unknown`; and these errors |
| `page` | the page where more stands |

The triggerer looks once in {interval} while this DAG is not paused. What is committed while it is paused, or while
Airflow is down, is in the next event. No change has two events: each run compares the table, or what was delivered to
the place, with the event before.
"""


def publish_dags(interval_s: float = INTERVAL_S) -> dict[str, DAG]:
    """Return a DAG for each valid query file, by DAG id; `refused_queries` reports the other files.

    Parameters
    ----------
    interval_s : float
        The least interval between publications, in s.
    """
    declarations = settings.declared()[0]
    return {f"publish_{declaration.query.name}": _dag(declaration, interval_s) for declaration in declarations}


def _dag(declaration: Declared, interval_s: float) -> DAG:
    name, published = declaration.query.name, assets.published(declaration.query)
    places = assets.places(declaration.query)
    with DAG(
        dag_id=f"publish_{name}",
        description=f"New answers of {name}: asset events while the stream lives",
        schedule=[assets.commits(declaration.query, interval_s)],
        catchup=False,
        max_active_runs=1,
        default_args=TASK_DEFAULTS,
        tags=["tailrace", "publication", declaration.query.kind, name],
        doc_md=doc_line(name, "answers")
        + _DOC.format(
            name=name,
            file=declaration.file.name,
            assets=" and ".join(f"`{table.name}`" for table in (*published, *places.values())),
            interval=format_duration(round(interval_s * 1000)),
        ),
    ) as dag:
        tables = {table.name.rpartition(".")[2]: table for table in published}
        for task_id, asset in (tables | places).items():
            PublishOperator(
                task_id=task_id,
                table=asset,
                place=task_id if task_id in places else None,
                query=name,
                file=str(declaration.file),
                max_active_tis_per_dag=1,  # each compares with the event of the previous one
            )
    return dag
