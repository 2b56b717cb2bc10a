"""The location of a warehouse: a directory, or a prefix of an object store."""

from __future__ import annotations

import os
from pathlib import Path

from tailrace.ground.connections import variable_of
from tailrace.ground.errors import refuse
from tailrace.ground.files.atomic_files import is_url
from tailrace.ground.files.object_path import Location, ObjectPath
from tailrace.ground.files.object_stores import settings_of
from tailrace.ground.files.object_urls import parse_declared_url, parse_object_url
from tailrace.storage.paths import require_fit

Warehouse = str | Path
"""A directory, or the URL of a prefix of an object store."""

CONNECTION = "TAILRACE_WAREHOUSE_CONNECTION"
"""The environment variable that names the connection to the object store of a warehouse."""

_FORMS = "s3://bucket/warehouse, gs://bucket/warehouse or abfss://container@account.dfs.core.windows.net/warehouse"


def location_of(warehouse: Warehouse) -> Location:
    """Return the location of a warehouse.

    Raises
    ------
    Refused
        When the location is not possible.
    """
    where, text = f"--warehouse {warehouse}", str(warehouse)
    if is_url(Path(warehouse)):
        url = parse_declared_url(text)
        if url is None:
            raise refuse(where, "it is a URL, but none of an object store", f"{_FORMS}; or a directory")
        require_fit(where, text)
        return ObjectPath(f"{url.store}/{url.key}".rstrip("/"), connection_of_warehouse())
    path = Path(os.path.abspath(warehouse))
    if path.exists() and not path.is_dir():
        raise refuse(where, "it is a file", "a directory")
    require_fit(where, path)
    return path


def connection_of_warehouse() -> str | None:
    """Return the name of the connection to the warehouse's object store.

    Return None if the environment's settings apply.
    """
    return os.environ.get(CONNECTION) or None


def connections_of(location: Location) -> list[str]:
    """Return the names of the connections that a process needs to use a location."""
    return [] if isinstance(location, Path) or location.connection is None else [location.connection]


def holds(file: Location) -> bool:
    """Return whether a file exists in a warehouse.

    Raises
    ------
    Refused
        When the bucket does not exist, or access is denied. An unreachable store is an `OSError`.
    """
    if isinstance(file, Path):
        return file.exists()
    try:
        if file.exists():
            return True
        file.require_bucket()
        return False
    except FileNotFoundError:
        raise refuse(_store(file), "there is no such bucket", "the name of one that exists") from None
    except PermissionError as error:
        named = file.connection
        remedy = (
            f"a right to read and write in connection {named}, {variable_of(named)}"
            if named
            else (f"the name of a connection in {CONNECTION}, or credentials in the environment")
        )
        raise refuse(_store(file), str(error.strerror), remedy) from None


def storage_options(location: Location) -> dict[str, str] | None:
    """Return deltalake's options for a table there. They contain secrets: never print or store them."""
    if isinstance(location, Path):
        return None
    url = parse_object_url(location.url)
    assert url is not None  # `location_of` refuses another one
    conditions = {"aws_conditional_put": "etag"} if url.store.startswith("s3:") else {}
    return settings_of(url, location.connection) | conditions | {"connect_timeout": "5s", "timeout": "30s"}


def moving_away(location: Location, suffix: str = "damaged") -> str:
    """Return advice to move a directory away, for a message: a command, if one does it."""
    return (
        f"mv {location} {location}.{suffix}"
        if isinstance(location, Path)
        else f"to move all that is below {location}/ away"
    )


def _store(file: ObjectPath) -> str:
    url = parse_object_url(file.url)
    return url.store if url else file.url
