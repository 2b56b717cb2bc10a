"""Alerts against a local HTTP server: when they fire, once per incident, when they are over, and what is refused."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace

import pyarrow as pa
import pytest
from airflow.sdk.exceptions import AirflowFailException

from kit.fakes.fake_host import QUERY, declare
from kit.fakes.webhook import listening_webhook
from kit.runs.late_tables import SCHEMA
from kit.suite.waiting import PATIENCE_S
from tailrace.drivers.driver_host import Driver
from tailrace.drivers.driver_status import DriverStatus
from tailrace.drivers.liveness import LivenessVerdict
from tailrace.ground.arrow.times import with_times
from tailrace.ground.errors import Refused
from tailrace.orchestration import alert_watch, notifiers
from tailrace.orchestration.alert_watch import AlertWatch, alert_of_end
from tailrace.orchestration.incidents import RUNBOOK, Undelivered
from tailrace.orchestration.notifiers import MARK, check_notifiers
from tailrace.orchestration.stream_operators import CheckOperator, SuperviseOperator
from tailrace.orchestration.triggers import DriverTrigger
from tailrace.query.alerts import Alerts
from tailrace.query.loading import load
from tailrace.storage.status import Status, wall_ms
from tailrace.storage.tables import Tables

ALERTS = """\
alerts:
  promise_broken: {{notify: ops_webhook, runbook: call the team of readings}}
  lag: {{notify: ops_webhook, rows: 1000}}
  place_away: {{notify: ops_webhook, after: 10 min}}
  driver_lost: {{notify: ops_webhook}}
  crash_loop: {{notify: ops_webhook}}
"""
MARKED = {MARK: "true"}  # as a URI gives it
PARAMS = {"batch_rows": 5, "restarts": 1, "within_s": 600, "hang_after_s": 60, "driver_memory": "1g"}
PROMISING = QUERY.replace("{{tick: 1 min}}", "{{policy: quantile, error: 0.05, risk: 0.1, tick: 1 min}}")


@pytest.fixture
def webhook(monkeypatch):
    with listening_webhook() as server:
        extra = {"endpoint": "hook/s3cret", "X-Team": "ops", "tailrace_notify": True}
        connection = {"conn_type": "http", "host": "127.0.0.1", "port": server.port, "extra": extra}
        monkeypatch.setenv("AIRFLOW_CONN_OPS_WEBHOOK", json.dumps(connection))
        yield server


@pytest.fixture
def file(place):
    return declare(place / "queries", "readings", PROMISING + ALERTS)


@pytest.fixture
def log_lines():
    return []


@pytest.fixture
def watch(file, layout, webhook, log_lines, monkeypatch):
    monkeypatch.setattr(alert_watch, "PROMISE_EVERY_S", 0.0)
    layout.stream.mkdir(parents=True)
    return AlertWatch(file, layout, log_lines.append)


def status(rows_left=0, state="streaming", alive=True, silent_ms=0):
    now = wall_ms()
    driver = Driver("readings", "running" if alive else "failed", 7, None, "")
    return DriverStatus(driver, Status(state, 7, 0, now - silent_ms, 3, rows_left=rows_left), now)


def told(webhook):
    return [(body["condition"], body["state"]) for _, _, body in webhook.received]


def measure(layout, off, *others):
    """Put a bucket of 100 answers into the table `quality`, of which some are off; `others`: of further columns."""
    tables = Tables(layout)
    tables.create({"quality": SCHEMA["quality"]})
    start = tables.read("quality").num_rows * 1000
    row = {"bucket_start": start, "answers": 100, "missing": 0, "error": 0.05, "risk": 0.1}
    each = {None: off} if not others else {f"c{number}": many for number, many in enumerate((off, *others))}
    given = [dict.fromkeys(SCHEMA["quality"].names) | row | {"answer": name, "off": each[name]} for name in each]
    rows = pa.Table.from_pylist(given)
    tables.add("quality", with_times(rows, SCHEMA["quality"]))


@pytest.mark.needs("long")
def test_a_broken_promise_is_told_once_with_its_runbook_and_when_it_is_kept_again(watch, layout, webhook):
    measure(layout, off=90)
    for _ in range(3):
        watch.observe(status())
    [(path, headers, body)] = webhook.received
    assert path == "/hook/s3cret"
    assert headers["X-Team"] == "ops"
    assert body["text"].startswith("readings: promise broken: 90.00% of the newest 100 answers are off by 0.05")
    assert (body["query"], body["runbook"]) == ("readings", "call the team of readings")
    for _ in range(20):
        measure(layout, off=0)
    watch.observe(status())
    watch.observe(status())
    assert told(webhook) == [("promise_broken", "firing"), ("promise_broken", "resolved")]
    assert webhook.received[1][2]["since"] == body["since"]
    assert ": promise broken, over: " in webhook.received[1][2]["text"]


def test_a_broken_promise_names_the_columns_of_answers(watch, layout, webhook):
    measure(layout, 11, 9, 90)
    watch.observe(status())
    [(_, _, body)] = webhook.received
    assert body["text"].startswith("readings: promise broken: c2: 90.00% of the newest 100 answers are off by 0.05")
    assert "; c0: 11.00% of the newest 100 answers" in body["text"]
    assert "c1" not in body["text"]


def test_a_trigger_tells_of_a_broken_promise_while_it_watches(place, file, host, layout, webhook):
    """The trigger as Airflow restarts it: the second one does not tell it again."""
    measure(layout, off=90)
    host.is_now("running")
    for _ in range(2):
        trigger = DriverTrigger("readings", str(place / "warehouse"), "", 0.01, 60, 60, str(file))
        event = asyncio.run(asyncio.wait_for(end_after_alert(trigger, host, webhook), PATIENCE_S))
        assert event["kind"] == "failed"
        host.is_now("running")
    assert told(webhook) == [("promise_broken", "firing")]


async def end_after_alert(trigger, host, webhook):
    """Run the trigger until an alert is there and it has looked twice more; then let its driver fail."""
    looks = 0

    def look():
        nonlocal looks
        looks += bool(webhook.received)
        if looks > 2:
            host.is_now("failed")

    host.on_inspect = look
    async for event in trigger.run():
        return event.payload


def test_the_promise_is_looked_at_often_enough_for_an_alert_within_a_minute():
    assert alert_watch.PROMISE_EVERY_S + alert_watch._AGAIN_S < 60
    assert alert_watch.LOST_AFTER_S + alert_watch._AGAIN_S < 60


def test_a_stream_that_lags_is_told_and_when_it_has_caught_up(watch, webhook):
    for rows in (1000, 1001, 5000, 1000):
        watch.observe(status(rows))
    assert told(webhook) == [("lag", "firing")], "it may lag again at once"
    watch._lag_at_s -= alert_watch.CALM_S
    watch.observe(status(1000))
    assert told(webhook) == [("lag", "firing"), ("lag", "resolved")]
    assert webhook.received[0][2]["detail"] == "1,001 rows to read, 1,000 are the bound"
    assert webhook.received[0][2]["runbook"] == RUNBOOK["lag"]


def away_status(away, problem=None, state="streaming"):
    """A status with places that are away; `away` has for how many minutes."""
    live = status(state=state)
    since = {name: live.now_ms - minutes * 60_000 for name, minutes in away.items()}
    return replace(live, reported=replace(live.reported, away=since, problem=problem))


POSTGRES_AWAY = "postgres: connection refused; it is tried again"


def test_a_place_that_is_away_for_a_while_is_told_once_and_when_it_takes_answers(watch, webhook):
    for minutes in (9, 10, 11):
        watch.observe(away_status({"postgres": minutes}, POSTGRES_AWAY))
    watch.observe(away_status({"postgres": 11, "buffer of postgres": 1}, POSTGRES_AWAY, "held"))
    assert told(webhook) == [("place_away", "firing")]
    watch.observe(away_status({}))
    watch.observe(away_status({}))
    assert told(webhook) == [("place_away", "firing"), ("place_away", "resolved")]
    assert webhook.received[0][2]["text"] == f"readings: place away: {POSTGRES_AWAY}"
    assert webhook.received[0][2]["runbook"] == RUNBOOK["place_away"]
    assert webhook.received[1][2]["text"] == "readings: place away, over: every place takes answers"


def test_an_alert_of_a_place_says_that_the_stream_is_held_and_names_no_other_problem(watch, webhook):
    problem = f"stream: the disk is full\n{POSTGRES_AWAY}\n    more of it\nbuffer of postgres: it lacked answers"
    watch.observe(away_status({"postgres": 60, "buffer of postgres": 20, "kafka": 60}, problem, "held"))
    [(_, _, body)] = webhook.received
    detail = f"{POSTGRES_AWAY}; buffer of postgres: it lacked answers; the stream is held by it"
    assert body["detail"] == detail


def test_neither_another_watch_nor_another_driver_tells_again_of_a_place_that_is_away(watch, file, layout, webhook):
    watch.observe(away_status({"postgres": 10}, POSTGRES_AWAY))
    again = AlertWatch(file, layout, print)
    again.observe(away_status({"postgres": 11}, POSTGRES_AWAY))
    again.observe(away_status({}, state="starting"))
    again.observe(away_status({"postgres": 0}))  # the new driver has not delivered yet
    again.observe(away_status({"postgres": 10}, POSTGRES_AWAY))
    assert told(webhook) == [("place_away", "firing")]


def test_a_driver_that_is_over_ends_no_alert_of_a_place(watch, webhook):
    watch.observe(away_status({"kafka": 10}, "kafka: away"))
    watch.observe(away_status({}, state="drained"))
    assert told(webhook) == [("place_away", "firing")]


def test_a_place_is_away_after_five_minutes_where_the_query_file_says_nothing(tmp_path):
    text = QUERY + "alerts: {{place_away: {{notify: ops_webhook}}}}\n"
    assert load(declare(tmp_path, "readings", text)).alerts.place_away.after == timedelta(minutes=5)


def test_a_driver_host_that_does_not_answer_is_told_as_a_lost_driver(watch, webhook, monkeypatch):
    watch.observe(None)
    assert told(webhook) == []
    monkeypatch.setattr(alert_watch, "LOST_AFTER_S", 0.0)
    watch.observe(None)
    watch.observe(None)
    for not_alive in (status(state="starting"), status(alive=False), status(silent_ms=60_000)):
        watch.observe(not_alive)
    assert told(webhook) == [("driver_lost", "firing")]
    watch.observe(status())
    assert told(webhook) == [("driver_lost", "firing"), ("driver_lost", "resolved")]


@pytest.mark.parametrize(("exit_code", "condition"), [(3, "crash_loop"), (1, "driver_lost"), (None, "driver_lost")])
def test_a_driver_that_has_given_up_is_told_once_and_when_another_one_runs(
    watch, file, layout, webhook, log_lines, exit_code, condition
):
    driver = Driver("readings", "failed", None, exit_code, "")
    for _ in range(2):
        alert_of_end(file, layout, driver, "failed: ended", log_lines.append)
    watch.observe(status())
    assert told(webhook) == [(condition, "firing"), (condition, "resolved")]


@pytest.mark.parametrize(("exit_code", "condition"), [(3, "crash_loop"), (1, "driver_lost")])
def test_supervise_tells_of_the_end_that_it_fails_with(file, host, layout, webhook, exit_code, condition):
    host.is_now("failed", exit_code)
    operator = SuperviseOperator(task_id="supervise", query="readings", file=str(file))
    with pytest.raises(AirflowFailException):
        operator.resume({}, LivenessVerdict("failed", "ended").as_event(), [], "")
    assert told(webhook) == [(condition, "firing")]


def test_a_driver_that_was_drained_is_no_incident(file, host, layout, webhook):
    host.is_now("ended", 0)
    operator = SuperviseOperator(task_id="supervise", query="readings", file=str(file))
    operator.resume({}, LivenessVerdict("ended", "drained").as_event(), [], "")
    assert told(webhook) == []


def test_an_alert_that_is_not_delivered_is_tried_again(watch, webhook, log_lines):
    webhook.status = 503
    watch.observe(status(5000))
    assert "not delivered" in log_lines[0]
    assert "it answers 503" in log_lines[0]
    webhook.status = 200
    watch.observe(status(5000))
    assert told(webhook) == [], "a receiver that hangs must not hold up each look at the driver"
    watch._failed_at_s -= alert_watch._AGAIN_S
    watch.observe(status(5000))
    assert told(webhook) == [("lag", "firing")]
    assert "s3cret" not in "".join(log_lines)


def test_what_one_receiver_refuses_does_not_silence_the_others(watch, layout, webhook, monkeypatch):
    observe, conditions = alert_watch.Incidents.observe, []

    def refusing_lag(self, condition, *more):
        conditions.append(condition)
        if condition == "lag":
            raise Undelivered(condition)
        return observe(self, condition, *more)

    monkeypatch.setattr(alert_watch.Incidents, "observe", refusing_lag)
    measure(layout, 50)
    watch.observe(status(5000))
    assert conditions[-3:] == ["lag", "place_away", "promise_broken"]
    assert told(webhook) == [("promise_broken", "firing")]


def test_a_driver_that_starts_again_leaves_a_lag_as_it_is(watch, webhook):
    watch._lag_at_s -= 2 * alert_watch.CALM_S
    for rows, state in ((5000, "streaming"), (0, "starting"), (5000, "streaming")):
        watch.observe(status(rows, state))
    assert told(webhook) == [("lag", "firing")]


def test_the_end_of_a_driver_is_told_though_the_receiver_was_away_at_first(file, layout, webhook, monkeypatch):
    layout.stream.mkdir(parents=True)
    webhook.status, pauses = 503, []

    def back_after_a_while(pause_s):
        pauses.append(pause_s)
        webhook.status = 200 if len(pauses) == 2 else 503

    monkeypatch.setattr(alert_watch, "time", SimpleNamespace(sleep=back_after_a_while))  # other threads sleep too
    alert_of_end(file, layout, None, "lost: no answer", print)
    assert told(webhook) == [("driver_lost", "firing")]
    assert pauses == list(alert_watch.PAUSES_S[:2])


def test_an_incident_that_nobody_was_told_of_any_more_is_forgotten(watch, file, layout, webhook):
    watch.observe(status(5000))
    text = file.read_text()
    file.write_text(text.replace(ALERTS.format(), ""))
    AlertWatch(file, layout, print).observe(status(5000))
    file.write_text(text)
    AlertWatch(file, layout, print).observe(status(5000))
    assert told(webhook) == [("lag", "firing")] * 2


def test_what_fails_in_an_alert_does_not_stop_the_watch(watch, webhook, log_lines, monkeypatch):
    monkeypatch.setattr(alert_watch.Incidents, "observe", lambda *_: 1 / 0)
    watch.observe(status(5000))
    assert log_lines == ["alerts: division by zero"]


def test_mail_goes_to_whom_the_connection_names(monkeypatch):
    from airflow.providers.smtp.hooks.smtp import SmtpHook

    sent = []
    extra = {"to": "ops@example.org", "from_email": "tailrace@example.org", "tailrace_notify": True}
    monkeypatch.setenv("AIRFLOW_CONN_OPS_MAIL", json.dumps({"conn_type": "smtp", "host": "localhost", "extra": extra}))
    monkeypatch.setattr(SmtpHook, "__enter__", lambda self: self)
    monkeypatch.setattr(SmtpHook, "__exit__", lambda self, *_: None)
    monkeypatch.setattr(SmtpHook, "from_email", "tailrace@example.org")
    monkeypatch.setattr(SmtpHook, "send_email_smtp", lambda self, **mail: sent.append(mail))
    notifiers.notify("ops_mail", "readings: lag", {"detail": "5 < 6"})
    assert (sent[0]["to"], sent[0]["subject"]) == ("ops@example.org", "readings: lag")
    assert sent[0]["html_content"] == "<p>detail: 5 &lt; 6</p>"


@pytest.mark.parametrize(
    ("connection", "message"),
    [
        (None, "alerts.lag: connection ops_webhook: Airflow knows none of this name"),
        ({"conn_type": "postgres", "host": "h"}, "no notifier takes its type, postgres"),
        ({"conn_type": "http", "extra": MARKED}, "it has no host"),
        ({"conn_type": "smtp", "host": "h", "extra": MARKED}, "it does not say to whom mail goes"),
        ({"conn_type": "http", "host": "h"}, "it is not meant for alerts"),
        ({"conn_type": "smtp", "host": "h", "extra": {"to": "a@b", "from_email": "c@d"}}, "it is not meant for alerts"),
        (
            {"conn_type": "http", "host": "h", "extra": {"tailrace_notify": False}},
            '"tailrace_notify": true in its extra',
        ),
    ],
)
def test_a_connection_that_no_notifier_takes_is_refused(monkeypatch, connection, message):
    if connection:
        monkeypatch.setenv("AIRFLOW_CONN_OPS_WEBHOOK", json.dumps(connection))
    with pytest.raises(Refused, match=message):
        check_notifiers(Alerts.model_validate({"lag": {"notify": "ops_webhook", "rows": 1}}))


def test_a_query_file_sends_nothing_by_a_connection_that_is_not_meant_for_alerts(monkeypatch):
    with listening_webhook() as server:
        connection = {
            "conn_type": "http",
            "host": "127.0.0.1",
            "port": server.port,
            "login": "me",
            "password": "s3cret",
        }
        monkeypatch.setenv("AIRFLOW_CONN_BILLING", json.dumps(connection))
        with pytest.raises(Refused, match="connection billing: it is not meant for alerts") as refused:
            notifiers.notify("billing", "readings: lag", {})
        assert server.received == []
        assert "s3cret" not in str(refused.value)
        monkeypatch.setenv("AIRFLOW_CONN_BILLING", json.dumps(connection | {"extra": MARKED}))
        notifiers.notify("billing", "readings: lag", {})
    ((_, headers, _),) = server.received
    assert "Authorization" in headers
    assert MARK not in headers


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{{promise_brocken: {{notify: x}}}}", r"alerts.promise_brocken: 'promise_brocken' is no field here"),
        ("{{lag: {{notify: x}}}}", r"alerts.lag.rows: is missing\n.*rows: 100000"),
        ("{{lag: {{notify: x, rows: 0}}}}", r"alerts.lag.rows: '0' does not fit"),
        ("{{place_away: {{notify: x, after: 5}}}}", r"alerts.place_away.after: 5 has no unit"),
        ("{{place_away: {{notify: x, after: -1 s}}}}", r"alerts.place_away.after: '-1 s' does not fit"),
        ("{{driver_lost: {{}}}}", r"alerts.driver_lost.notify: is missing\n.*notify: ops_webhook"),
        ("{{driver_lost: {{notify: 'a b'}}}}", r"alerts.driver_lost.notify: 'a b' does not fit"),
        ("{{promise_broken: {{notify: x}}}}", r"alerts: policy none promises nothing"),
    ],
)
def test_wrong_alerts_are_refused(tmp_path, text, message):
    with pytest.raises(Refused, match=message):
        load(declare(tmp_path, "readings", QUERY + f"alerts: {text}\n"))


def test_alerts_may_change_while_the_checkpoint_lives(tmp_path):
    without = load(declare(tmp_path / "a", "readings", PROMISING))
    assert load(declare(tmp_path / "b", "readings", PROMISING + ALERTS)).structure() == without.structure()


def test_check_refuses_an_alert_whose_connection_is_missing(file, place, host):
    context = {"dag": SimpleNamespace(params=PARAMS), "dag_run": SimpleNamespace(conf={}), "params": PARAMS}
    operator = CheckOperator(task_id="check", query="readings", file=str(file))
    with pytest.raises(AirflowFailException, match=r"alerts\.lag: connection ops_webhook: Airflow knows none"):
        operator.execute(context)
