"""The APIs of YARN and of Kubernetes, as the fence reads them; an answer that says nothing is none."""

from __future__ import annotations

import json
import shutil

import pytest

from kit.fakes.simulated_platform import SimulatedPlatform
from tailrace.drivers.applications import end_applications, platform_file, platform_of, tag_of, write_platform
from tailrace.drivers.cluster_platform import PlatformDown
from tailrace.drivers.kubernetes import Kubernetes
from tailrace.drivers.platform_http import Credentials, HttpResponse
from tailrace.drivers.submission import platform_named
from tailrace.drivers.yarn import Yarn
from tailrace.ground.errors import Refused


def yarn(platform, *addresses: str) -> Yarn:
    return Yarn("tag", addresses or ("http://rm",), platform if callable(platform) else platform.yarn)


def kubernetes(platform) -> Kubernetes:
    return Kubernetes("tag", "https://api:6443", "ns", sender=platform if callable(platform) else platform.kubernetes)


def clients(answer):
    return yarn(lambda *_: answer), kubernetes(lambda *_: answer)


def submitted(client, platform, start="one"):
    platform.submit(client.submission_settings(start))
    [application] = client.applications()
    return application


@pytest.mark.parametrize("kind", [yarn, kubernetes])
def test_an_applications_start_and_state_are_read(kind):
    platform = SimulatedPlatform(unique=kind is kubernetes)
    client = kind(platform)
    assert client.applications() == []
    application = submitted(client, platform)
    assert (application.start, application.over, application.exit_code, application.blocks) == (
        "one",
        False,
        None,
        True,
    )
    platform.end(platform.applications[0], 75)
    [application] = client.applications()
    assert (application.over, application.exit_code) == (True, 75)
    assert application.blocks == (kind is kubernetes), "a pod that has ended still has the next one's name"


@pytest.mark.parametrize(
    "answer",
    [
        HttpResponse(200, b"This is standby RM"),
        HttpResponse(404, b"{}"),
        HttpResponse(503, b"{}"),
        HttpResponse(307, b""),
    ],
)
def test_an_answer_that_says_nothing_is_no_list_without_applications(answer):
    for client in clients(answer):
        with pytest.raises(PlatformDown):
            client.applications()


@pytest.mark.parametrize("status", [401, 403])
def test_who_is_not_let_in_is_refused_with_what_would_be_right(status):
    for client in clients(HttpResponse(status, b"")):
        with pytest.raises(Refused, match=r"(?s)answers 40\d.*right would be: a user or credentials"):
            client.applications()


def test_a_standby_resource_manager_is_passed_over():
    platform = SimulatedPlatform()

    def send(method, url, headers, body):
        return HttpResponse(200, b"This is standby RM") if "//a" in url else platform.yarn(method, url, headers, body)

    client = yarn(send, "http://a", "http://b")
    application = submitted(client, platform)
    client.end(application)
    assert platform.applications[0].ending


def test_yarn_is_asked_as_the_user_who_submits(monkeypatch):
    monkeypatch.setenv("HADOOP_USER_NAME", "ada")
    platform = SimulatedPlatform()
    client = yarn(platform)
    client.end(submitted(client, platform))
    assert all("user.name=ada" in request for request in platform.requests)


def test_an_application_that_yarn_has_forgotten_is_over():
    platform = SimulatedPlatform()
    client = yarn(platform)
    application = submitted(client, platform)
    platform.applications[0].reported = "gone"
    client.end(application)
    assert client.applications() == []


def test_yarn_does_not_start_a_driver_again_by_itself():
    assert yarn(SimulatedPlatform()).submission_settings("s")["spark.yarn.maxAppAttempts"] == "1"


def test_another_pod_of_the_same_name_is_not_deleted():
    platform = SimulatedPlatform(unique=True)
    client = kubernetes(platform)
    old = submitted(client, platform, "old")
    platform.applications[0].reported = "gone"
    submitted(client, platform, "new")
    client.end(old)
    assert not platform.applications[1].ending


@pytest.mark.parametrize("kind", [yarn, kubernetes])
def test_the_end_is_waited_for(kind):
    platform = SimulatedPlatform(unique=kind is kubernetes)
    client, told = kind(platform), []
    submitted(client, platform)
    with pytest.raises(TimeoutError, match="there may still be a driver on the platform"):
        end_applications(client, told.append, 0.0, lambda _: None)
    assert len(told) == 1
    end_applications(client, told.append, 60.0, lambda _: platform.end(platform.applications[0]))
    assert not platform.applications[0].alive


def test_no_news_of_a_platform_is_no_end():
    with pytest.raises(TimeoutError, match="gives no answer"):
        end_applications(yarn(lambda *_: (_ for _ in ()).throw(OSError("unreachable"))), print, 0.0, lambda _: None)


def test_a_copy_of_a_warehouse_has_a_tag_of_its_own_and_ends_no_application_of_the_original(tmp_path):
    home, copy, link = (tmp_path / name / "readings" for name in ("warehouse", "copy", "link"))
    tag = tag_of(home)
    write_platform(home, Yarn(tag, ("http://a",)))
    shutil.copytree(home.parent, copy.parent)
    assert platform_of(copy) is None
    assert tag_of(copy) != tag
    write_platform(copy, Yarn("another", ("http://a",)))
    assert (tag_of(home), tag_of(copy)) == (tag, "another")
    link.parent.symlink_to(home.parent)
    assert tag_of(link) == tag, "one warehouse, by two paths"
    home.parent.rename(tmp_path / "moved")
    home.parent.symlink_to(tmp_path / "moved")
    assert tag_of(home) == tag, "what was submitted by that path writes there"


def test_the_note_of_a_platform_gives_it_back_and_holds_no_secret(tmp_path):
    token = tmp_path / "token"
    token.write_text("a secret\n")
    named = Kubernetes("tag", "https://api:6443", "ns", Credentials(token_file=str(token)))
    for platform in (named, yarn(SimulatedPlatform(), "http://a", "http://b")):
        write_platform(tmp_path, platform)
        assert platform_of(tmp_path) == platform
        assert "a secret" not in platform_file(tmp_path).read_text()
    assert named.credentials.headers() == {"Authorization": "Bearer a secret"}
    token.write_text("renewed")
    assert named.credentials.headers() == {"Authorization": "Bearer renewed"}


def test_the_platform_is_that_of_the_command():
    submission = "spark.kubernetes.authenticate.submission"
    files = ["--conf", f"{submission}.caCertFile=/ca", "--conf", f"{submission}.oauthTokenFile=/token"]
    words = ["spark-submit", "--master", "k8s://api:6443/", *files, "--conf", "spark.kubernetes.namespace=ns"]
    named = platform_named(words, "", "tag")
    assert named == Kubernetes("tag", "https://api:6443", "ns", Credentials("/ca", "/token"))
    named = platform_named(["spark-submit", "--master", "yarn"], "rm1:8088,https://rm2:8090/", "tag")
    assert named == Yarn("tag", ("http://rm1:8088", "https://rm2:8090"))
    with pytest.raises(Refused, match="no driver can be started there"):
        platform_named(["spark-submit", "--master", "local[*]"], "", "tag")


def test_a_pods_log_is_read():
    platform = SimulatedPlatform(unique=True)
    client = kubernetes(platform)
    assert client.last_lines(submitted(client, platform)) == "its last words\n"
    assert platform.requests[-1] == "GET https://api:6443/api/v1/namespaces/ns/pods/tag-driver/log?tailLines=50"


def test_a_request_has_the_form_that_its_api_wants():
    sent = []

    def send(method, url, headers, body):
        sent.append((method, url, headers, json.loads(body) if body else None))
        return HttpResponse(200, b'{"apps": null, "items": [], "state": "KILLED"}')

    platform = SimulatedPlatform()
    application = submitted(yarn(platform), platform)
    yarn(send).end(application)
    kubernetes(send).applications()
    (put, listed) = sent
    assert put[0] == "PUT"
    assert put[1].startswith("http://rm/ws/v1/cluster/apps/application_1_0000/state?user.name=")
    assert put[2]["Content-Type"] == "application/json"
    assert put[3] == {"state": "KILLED"}
    assert listed[1] == "https://api:6443/api/v1/namespaces/ns/pods?labelSelector=tailrace-query%3Dtag"
