"""Check of a DAG run's conf against the fields of the DAG's trigger form."""

from __future__ import annotations

from difflib import get_close_matches

from airflow.sdk import Context

from tailrace.ground.errors import Problem, Refused


def check_conf(context: Context) -> None:
    """Refuse a run whose conf has keys that are not fields of its DAG.

    Airflow accepts such keys, but no task reads them.

    Raises
    ------
    Refused
        Naming each such key, and the nearest field.
    """
    fields = list(context["dag"].params)
    field_list = f"{', '.join(fields[:-1])} or {fields[-1]}"
    fault = "the form of this DAG has no such field"
    problems = [
        Problem(f"conf: {key}", fault, " or ".join(get_close_matches(key.lower(), fields, n=1)) or field_list)
        for key in context["dag_run"].conf or {}
        if key not in fields
    ]
    if problems:
        raise Refused(problems)
