"""Airflow notifier that posts JSON to a URL, in the form that webhooks of chat rooms and pagers accept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import httpx
from airflow.sdk import BaseHook, Connection, Context
from airflow.sdk.bases.notifier import BaseNotifier

from tailrace.ground.errors import refuse

MARK = "tailrace_notify"
"""The field of a connection's extra that allows alerts to use it; otherwise a query file could have any host called."""

_TIMEOUT_S = 10.0


class HttpNotifier(BaseNotifier):
    """Posts a JSON object to the URL of a connection of type `http`.

    The connection's extra may have `endpoint`, the path of the URL, which may be secret; all other text fields except
    `MARK` are headers, as in the HTTP provider. Login and password are sent by basic authentication.

    Parameters
    ----------
    conn_id : str
        Id of the connection.
    body : dict
        The object.
    """

    def __init__(self, conn_id: str, body: Mapping[str, Any], context: Context | None = None) -> None:
        super().__init__(context)
        self.conn_id, self.body = conn_id, dict(body)

    def notify(self, context: Context) -> None:
        """Post once.

        Raises
        ------
        Refused
            When the connection has no host.
        ConnectionError
            When there is no answer, or not a successful one; the message omits the URL, which may be secret.
        """
        connection = BaseHook.get_connection(self.conn_id)
        extra = connection.extra_dejson
        headers = {key: extra[key] for key in extra.keys() - {"endpoint", MARK} if isinstance(extra[key], str)}
        login = (connection.login, connection.password or "") if connection.login else None
        try:
            url = url_of(connection)
            answer = httpx.post(url, json=self.body, headers=headers, auth=login, timeout=_TIMEOUT_S)
        except (httpx.HTTPError, httpx.InvalidURL) as error:  # not chained: it may quote the URL
            raise ConnectionError(f"connection {self.conn_id}: no answer: {type(error).__name__}") from None
        if not answer.is_success:
            raise ConnectionError(f"connection {self.conn_id}: it answers {answer.status_code}")


def url_of(connection: Connection) -> str:
    """Return the URL of a connection of type `http`.

    Raises
    ------
    Refused
        When the connection has no host.
    """
    if not connection.host:
        raise refuse(f"connection {connection.conn_id}", "it has no host", "--conn-host hooks.example.org")
    scheme, _, rest = connection.host.rpartition("://")
    port = f":{connection.port}" if connection.port else ""
    path = str(connection.extra_dejson.get("endpoint") or "").lstrip("/")
    return f"{scheme or connection.schema or 'http'}://{rest.rstrip('/')}{port}/{path}"
