"""Where people find a query in Airflow: the path of our pages, and its DAGs' names. It does not import Airflow."""

from __future__ import annotations

PAGES = "/tailrace"
"""The path of our pages below the URL of Airflow's API server."""

DAG_KINDS = ("stream", "correct", "calibrate", "publish", "rebuild")
"""The prefixes of a query's DAGs, before `_` and its name."""
