"""Measures how fast answers come into a table of PostgreSQL: `python tools/postgres_speed.py CONNECTION [--answers N]`.

CONNECTION is the name of a connection, AIRFLOW_CONN_NAME; the table `tailrace_speed` of its login's schema is made, and
dropped at the end. Answers are added to a filled table, and then replaced by newer versions, each in one delivery.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np

from current_cost import QUERY, Answers
from tailrace.delivery.postgres import deliver
from tailrace.query.declared import declared_query

TABLE = "tailrace_speed"


def main() -> None:
    parser = argparse.ArgumentParser("python tools/postgres_speed.py", description=__doc__.partition("\n")[0])
    parser.add_argument("connection", help="the name of a connection")
    parser.add_argument("--answers", type=int, default=900_000, help="of each delivery")
    options = parser.parse_args()
    query = declared_query(QUERY | {"answers": {"postgres": {"connection": options.connection, "table": TABLE}}})
    with tempfile.TemporaryDirectory() as home:
        answers = Answers(Path(home))

        def timed(what: str) -> None:
            began = time.perf_counter()
            rows = deliver(answers.layout, query, answers.kind, 10.0)
            took_s = time.perf_counter() - began
            print(f"{what}: {rows:,} answers in {took_s:.1f} s, {rows / took_s:,.0f}/s", flush=True)

        numbers = np.arange(2 * options.answers)
        try:
            answers.add("results", numbers[: options.answers], 1_000)
            timed("into a new table")
            answers.add("results", numbers[options.answers :], 1_000)
            timed("new answers")
            answers.add("corrections", numbers[options.answers :], 60_000, interval="all", retracted=False)
            timed("corrected answers")
            answers.add("corrections", numbers[: options.answers : 20], 60_000, interval="early", retracted=False)
            timed("every twentieth answer corrected")
        finally:
            with query.answers.postgres.server.session() as session, session.cursor() as cursor:
                cursor.execute(f"DROP TABLE IF EXISTS {TABLE}")
                cursor.execute("DELETE FROM tailrace_positions WHERE table_name = %s", (TABLE,))
                session.commit()


if __name__ == "__main__":
    main()
