"""Import this before airflow: it sets AIRFLOW_HOME to a temporary directory, removed at exit."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile

HOME = tempfile.mkdtemp(prefix="tailrace-airflow-")
atexit.register(shutil.rmtree, HOME, ignore_errors=True)
os.environ["AIRFLOW_HOME"] = HOME
os.environ["AIRFLOW__CORE__LOAD_EXAMPLES"] = "False"
