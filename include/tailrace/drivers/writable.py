"""The check that a driver will find a writable directory in the warehouse."""

from __future__ import annotations

import os
from pathlib import Path

from tailrace.ground.errors import refuse
from tailrace.ground.files.object_path import Location

_WAREHOUSE = "a warehouse that Airflow and the driver host may write to"


def require_writable(home: Location) -> None:
    """Refuse a directory that is not writable; an object store is tried when the driver is deployed."""
    if not isinstance(home, Path):
        return
    try:
        home.mkdir(parents=True, exist_ok=True)
        is_writable = os.access(home, os.W_OK | os.X_OK)
    except OSError as error:
        raise refuse(str(home), f"it cannot be made: {error.strerror}", _WAREHOUSE) from None
    if not is_writable:
        raise refuse(str(home), "it cannot be written to", _WAREHOUSE)
