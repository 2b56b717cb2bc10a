"""The reason why a task failed for good, stored as an XCom, as Airflow keeps the text of an exception in logs only."""

from __future__ import annotations

from airflow.sdk import Context

REASON = "reason"
"""Key of the XCom with the reason. A task that was killed, or marked by somebody, has none."""

_MOST_CHARACTERS = 2_000


def store_reason(context: Context) -> None:
    """Store the text of the exception that fails a task; the callback `on_failure_callback` of our tasks.

    Airflow also calls it in the DAG processor for a killed task, without an exception. That process must not send an
    XCom, as it would wait for ever for an answer.
    """
    error = context.get("exception")
    if isinstance(error, BaseException):
        text = str(error).strip() or type(error).__name__
        context["ti"].xcom_push(REASON, text[:_MOST_CHARACTERS])
