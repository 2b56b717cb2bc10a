"""The notifiers that alerts may use: one for each type of connection on a fixed list."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

import httpx
from airflow.sdk import BaseHook, Connection, Context
from airflow.sdk.bases.notifier import BaseNotifier

from tailrace.ground.errors import Problem, Refused, refuse
from tailrace.orchestration import settings
from tailrace.query.alerts import Alerts

TYPES = ("http", "smtp")


def check_notifiers(alerts: Alerts) -> None:
    """Refuse alerts whose connection is missing, incomplete, of a wrong type, or not meant for alerts.

    Raises
    ------
    Refused
        Naming each such alert.
    """
    problems = []
    for condition, alert in alerts.declared().items():
        try:
            _check(settings.connection(alert.notify))
        except Refused as refused:
            problems += [
                Problem(f"alerts.{condition}: {each.where}", each.fault, each.remedy) for each in refused.problems
            ]
    if problems:
        raise Refused(problems)


def notify(conn_id: str, subject: str, message: Mapping[str, str]) -> None:
    """Send a message by the notifier of a connection.

    Parameters
    ----------
    subject : str
        One line for people, sent as `text` over HTTP, as chat rooms want it.
    message : dict
        The fields of the message, for programs.

    Raises
    ------
    Refused
        When the connection is missing, incomplete, of a wrong type, or not meant for alerts.
    Exception
        Whatever the notifier raises when it can't deliver.
    """
    connection = settings.connection(conn_id)
    _check(connection)
    notifier: BaseNotifier
    if connection.conn_type == "http":
        notifier = HttpNotifier(conn_id, {"text": subject, **message})
    else:
        from airflow.providers.smtp.notifications.smtp import SmtpNotifier  # noqa: PLC0415 (takes long to import)

        lines = "".join(f"<p>{escape(name)}: {escape(value)}</p>" for name, value in message.items())
        to = connection.extra_dejson["to"]
        notifier = SmtpNotifier(to=to, subject=subject, html_content=lines, smtp_conn_id=conn_id)
    notifier.notify(Context())


def _check(connection: Connection) -> None:
    where = f"connection {connection.conn_id}"
    if connection.conn_type not in TYPES:
        raise refuse(where, f"no notifier takes its type, {connection.conn_type}", f"type {' or '.join(TYPES)}")
    if str(connection.extra_dejson.get(MARK)).lower() != "true":  # in a URI every value is a text
        fault = "it is not meant for alerts: any query file could name it, and its host get its password"
        raise refuse(where, fault, f'"{MARK}": true in its extra, if alerts may use it')
    if connection.conn_type == "http":
        _url_of(connection)
    elif not connection.extra_dejson.get("to"):
        raise refuse(where, "it does not say to whom mail goes", '"to" in its extra: {"to": "ops@example.org"}')
    elif not connection.extra_dejson.get("from_email"):
        raise refuse(where, "it does not say from whom mail comes", '"from_email" in its extra, beside "to"')


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
            url = _url_of(connection)
            answer = httpx.post(url, json=self.body, headers=headers, auth=login, timeout=_TIMEOUT_S)
        except (httpx.HTTPError, httpx.InvalidURL) as error:  # not chained: it may quote the URL
            raise ConnectionError(f"connection {self.conn_id}: no answer: {type(error).__name__}") from None
        if not answer.is_success:
            raise ConnectionError(f"connection {self.conn_id}: it answers {answer.status_code}")


def _url_of(connection: Connection) -> str:
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
