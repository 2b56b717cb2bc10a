"""Query files that are refused have no DAG: Airflow shows what is wrong with them as an import error of this file.

It is a file of its own because Airflow takes all DAGs of a file that has an import error out of service.
"""

from __future__ import annotations

from tailrace.ground.errors import Refused
from tailrace.orchestration.settings import declared

if problems := declared()[1]:
    raise Refused(problems)
