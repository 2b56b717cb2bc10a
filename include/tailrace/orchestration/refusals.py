"""Makes refusals final failures of Airflow's tasks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from airflow.sdk.exceptions import AirflowFailException

from tailrace.ground.errors import Busy, Refused


@contextmanager
def refusals_fail() -> Iterator[None]:
    """Turn a refusal into a final failure of the task, since retries would be refused, too.

    The failure contains the remedy. `Busy` passes through, so that the task is retried.
    """
    try:
        yield
    except Busy:
        raise
    except Refused as refused:
        raise AirflowFailException(str(refused)) from None
