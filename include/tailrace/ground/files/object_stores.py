"""Clients of object stores, configured by a connection: Delta Lake's client, by package obstore."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import lru_cache
from typing import Any, NamedTuple

from obstore.exceptions import BaseError, PermissionDeniedError, UnauthenticatedError
from obstore.store import ObjectStore, from_url

from tailrace.ground.connections import read_connection
from tailrace.ground.errors import refuse
from tailrace.ground.files.object_urls import ObjectUrl

_ALLOW_HTTP = "allow_http"
_CLIENT = {"connect_timeout": "5s", "timeout": "30s"}
_REFUSED, _MISSING = (
    re.compile(f"status code: {codes}") for codes in ("40[13]", "404")
)  # a listing's errors are generic
_RETRIES: Any = {"max_retries": 3, "retry_timeout": timedelta(seconds=15)}  # a live run retries, and reports it


class _Service(NamedTuple):
    """The settings that a connection to a service may have: their names in the connection, and in the client.

    `login` and `password` are the client's names of a connection's login and password.
    """

    settings: dict[str, str]
    login: str | None
    password: str | None


EXAMPLE = '{"extra": {"endpoint_url": "https://…", "region_name": "eu-central-1"}}'
"""An example of a connection to an S3 store, in JSON."""

_SERVICES = {
    "s3": _Service(
        {name: name for name in ("aws_region", "aws_endpoint", "aws_session_token", "aws_virtual_hosted_style_request")}
        | {"region_name": "aws_region", "endpoint_url": "aws_endpoint"},  # names of Airflow's connections to AWS
        "aws_access_key_id",
        "aws_secret_access_key",
    ),
    "gs": _Service(
        {"keyfile_dict": "google_service_account_key", "key_path": "google_service_account"},
        None,
        None,
    ),
    "abfss": _Service(
        {"sas_token": "azure_storage_sas_key", "tenant_id": "azure_storage_tenant_id"}
        | {"client_id": "azure_storage_client_id", "client_secret": "azure_storage_client_secret"},
        None,
        "azure_storage_account_key",
    ),
}


def settings_of(url: ObjectUrl, connection: str | None) -> dict[str, str]:
    """Return the client settings of a connection. They contain secrets: never print or store them.

    Without a connection there are none: the client uses the environment or the machine's role.

    Raises
    ------
    Refused
        When there is no such connection, or it has a setting that this service does not know.
    """
    if connection is None:
        return {}
    service = _SERVICES[url.store.partition(":")[0]]
    example = EXAMPLE if service.login else '{"extra": {…}}'
    read = read_connection(connection, example)
    if unknown := sorted(read.extra.keys() - service.settings.keys() - {_ALLOW_HTTP}):
        fault = f"it has settings that no connection to an object store may have: {', '.join(unknown)}"
        raise refuse(f"connection {connection}", fault, ", ".join([*service.settings, _ALLOW_HTTP]))
    logins = {service.login: read.login, service.password: read.password}
    settings = {service.settings.get(name, name): value for name, value in read.extra.items()}
    return settings | {name: value for name, value in logins.items() if name and value}


@lru_cache(maxsize=16)
def store_of(store: str, connection: str | None) -> ObjectStore:
    """Return the client of a store, given by its URL without a key.

    Raises
    ------
    Refused
        When the client refuses the connection's settings.
    """
    settings = settings_of(ObjectUrl(store, ""), connection)
    allow_http = settings.pop(_ALLOW_HTTP, "false").lower() == "true"
    client: Any = _CLIENT | {_ALLOW_HTTP: allow_http}
    config: Any = settings
    try:
        return from_url(store, config=config, client_options=client, retry_config=_RETRIES)
    except BaseError:  # the error's text may show a secret
        where = f"connection {connection}" if connection else store
        raise refuse(
            where, f"its settings make no client of {store}", "the settings that the service asks for"
        ) from None


@contextmanager
def store_errors(url: str) -> Iterator[None]:
    """Raise the client's errors as an `OSError` that names the URL; a live run retries after it.

    A missing object stays a `FileNotFoundError`.
    """
    try:
        yield
    except BaseError as error:
        reason = _reason(error)
        if isinstance(error, PermissionDeniedError | UnauthenticatedError) or _REFUSED.search(reason):
            raise PermissionError(errno.EACCES, f"the object store refuses access: {reason}", url) from None
        if _MISSING.search(reason):
            raise FileNotFoundError(errno.ENOENT, reason, url) from None
        raise OSError(errno.EIO, reason, url) from None


def _reason(error: BaseError) -> str:
    """Return an error's first line up to the server's status, without the queries of URLs.

    A URL's query may contain a signature.
    """
    line = re.sub(r"\?\S*", "", str(error).partition("\n")[0])
    return re.sub(r"(status code: \d+[^:]*):.*", r"\1", line)
