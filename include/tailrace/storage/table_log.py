"""The log of a Delta table, read by its file names: cheaper than to open the table."""

from __future__ import annotations

from tailrace.ground.object_path import Location


def newest_version(path: Location) -> int | None:
    """Return the newest version of a Delta table, by the file names in its log; None where there is no table."""
    try:
        names = [file.name for file in (path / "_delta_log").iterdir()]
    except FileNotFoundError:
        return None
    return max((int(name.split(".")[0]) for name in names if name[0].isdigit()), default=None)
