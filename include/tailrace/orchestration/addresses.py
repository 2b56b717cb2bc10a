"""Names of a query's pages, DAGs and XComs in Airflow. The module does not import Airflow."""

from __future__ import annotations

PAGES = "/tailrace"
"""The path of our pages below the URL of Airflow's API server."""

DAG_KINDS = ("stream", "correct", "calibrate", "publish", "rebuild")
"""The prefixes of a query's DAGs, before `_` and its name."""

REPORT = "dry_run"
"""Key of the XCom with the report of a dry run; other runs have none."""
