"""Deletes the history of some DAGs from the database of an Airflow that does not run.

Run `python -m tailrace.embedded.forget_dags DAG…` in the environment of that Airflow.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable

from tailrace.embedded.embedded_airflow import EmbeddedAirflow


def forget_dags(airflow: EmbeddedAirflow, dags: Iterable[str]) -> None:
    """Delete the runs of DAGs of an embedded Airflow, which must not run; its next start treats the DAGs as new.

    Raises
    ------
    RuntimeError
        When this fails; the message quotes Airflow's output.
    """
    if not (airflow.directory / "airflow.db").exists():
        return
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("AIRFLOW")}
    done = subprocess.run(
        [sys.executable, "-m", "tailrace.embedded.forget_dags", *dags],
        env=inherited | airflow.environment,
        cwd=airflow.directory,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        what = f"the runs of an earlier demonstration could not be deleted from {airflow.directory}/airflow.db"
        raise RuntimeError(f"{what}: {(done.stderr or done.stdout)[-2000:]}")


def main(dags: Iterable[str]) -> int:
    """Migrate the database, which may be of an earlier Airflow, and delete the runs; return the exit code."""
    # Imported here: importing Airflow creates a home for it, and the caller's process has none.
    from airflow.api.common.delete_dag import delete_dag  # noqa: PLC0415
    from airflow.exceptions import DagNotFound  # noqa: PLC0415
    from airflow.models import TaskInstance  # noqa: PLC0415
    from airflow.utils.session import create_session  # noqa: PLC0415
    from airflow.utils.state import TaskInstanceState  # noqa: PLC0415
    from sqlalchemy import update  # noqa: PLC0415

    migrated = subprocess.run([sys.executable, "-m", "airflow", "db", "migrate"], check=False).returncode
    if migrated:
        return migrated
    for dag in dags:
        with create_session() as session:
            running = TaskInstance.state == TaskInstanceState.RUNNING  # left by a killed Airflow
            session.execute(
                update(TaskInstance).where(TaskInstance.dag_id == dag, running).values(state=TaskInstanceState.FAILED)
            )
            try:
                delete_dag(dag, session=session)
            except DagNotFound:
                continue
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
