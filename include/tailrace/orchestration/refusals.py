"""Refusals as Airflow's tasks have them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from airflow.sdk.exceptions import AirflowFailException

from tailrace.ground.errors import Busy, Refused


@contextmanager
def refusals_fail() -> Iterator[None]:
    """Turn a refusal into a final failure of the task, since every retry would be refused too.

    The failure says what would be right. `Busy` passes through: another process is at it, and the task is retried.
    """
    try:
        yield
    except Busy:
        raise
    except Refused as refused:
        raise AirflowFailException(str(refused)) from None
