"""The notifiers that alerts may use: one for each type of connection on a fixed list."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from airflow.sdk import Connection, Context
from airflow.sdk.bases.notifier import BaseNotifier

from tailrace.ground.errors import Problem, Refused, refuse
from tailrace.orchestration import settings
from tailrace.orchestration.http_notifier import MARK, HttpNotifier, url_of
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
        url_of(connection)
    elif not connection.extra_dejson.get("to"):
        raise refuse(where, "it does not say to whom mail goes", '"to" in its extra: {"to": "ops@example.org"}')
    elif not connection.extra_dejson.get("from_email"):
        raise refuse(where, "it does not say from whom mail comes", '"from_email" in its extra, beside "to"')
