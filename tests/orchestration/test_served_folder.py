"""The folder of `tailrace serve`: what is refused there, and the port that it keeps."""

from __future__ import annotations

import socket

import pytest

from tailrace.drivers import ports
from tailrace.drivers.ports import free_port, is_free, lasting_port
from tailrace.embedded.served_folder import ServedFolder
from tailrace.ground.errors import Refused


@pytest.fixture
def folder(tmp_path):
    return ServedFolder(tmp_path / "platform")


def test_a_folder_is_made_and_held_with_its_queries(folder):
    with folder.held():
        assert not any(folder.home.iterdir())
        folder.take_port(free_port())
        (folder.queries / "mine.yaml").touch()
    with folder.held():
        assert (folder.queries / "mine.yaml").exists()


def test_query_files_and_tables_of_ones_own_may_be_there_before(folder):
    for directory in (folder.queries, folder.warehouse):
        directory.mkdir(parents=True)
    with folder.held():
        pass


def test_the_folder_of_a_demonstration_is_refused(folder):
    folder.home.mkdir()
    (folder.home / ".demo").touch()
    with pytest.raises(Refused, match=r"it is a demonstration's(.|\n)*tailrace serve FOLDER"), folder.held():
        pytest.fail("it was not refused")
    assert [path.name for path in folder.home.iterdir()] == [".demo"]


@pytest.mark.parametrize("name", ["airflow", "drivers"])
def test_what_somebody_else_has_where_it_would_write_is_refused(folder, name):
    (folder.home / name).mkdir(parents=True)
    with pytest.raises(Refused, match=rf"platform/{name}: tailrace serve did not make it"), folder.held():
        pytest.fail("it was not refused")
    with ServedFolder(folder.home.parent).held():
        folder_of_ours = ServedFolder(folder.home.parent)
        folder_of_ours.take_port(free_port())
        (folder_of_ours.home / name).mkdir()
    with ServedFolder(folder.home.parent).held():
        pass


def test_a_folder_that_is_served_is_refused_with_what_runs_there(folder):
    with folder.held():
        port = folder.take_port(free_port())
        again = ServedFolder(folder.home)
        with (
            pytest.raises(Refused, match=rf"tailrace serve \(pid \d+\), at http://127.0.0.1:{port} runs there") as at,
            again.held(),
        ):
            pytest.fail("it was not refused")
    assert at.value.exit_code == 2


@pytest.mark.parametrize("record", ["", "[]", "{}", '{"port": "x", "pid": 1}', "no JSON"])
def test_a_damaged_record_of_who_serves_is_none(folder, record):
    with folder.held():
        (folder.home / ".serve").write_text(record)
        with pytest.raises(Refused, match="tailrace serve runs there"), ServedFolder(folder.home).held():
            pytest.fail("it was not refused")
        assert folder.take_port(None)


def test_a_port_is_kept_until_another_one_is_asked_for(folder):
    with folder.held():
        first = folder.take_port(None)
        assert folder.take_port(None) == first
        asked = free_port()
        assert folder.take_port(asked) == asked
        assert ServedFolder(folder.home).take_port(None) == asked


def test_a_port_in_use_is_refused_with_a_free_one(folder):
    with folder.held(), socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(Refused, match=rf"listens on port {port} of 127.0.0.1\n(.|\n)*--port (?!{port})\d+"):
            folder.take_port(port)
        assert not any(folder.home.iterdir()), "nothing is written"
        (folder.home / ".serve").write_text(f'{{"port": {port}, "pid": 1}}')
        with pytest.raises(Refused, match=f"listens on port {port} of 127.0.0.1, where this folder was served last,"):
            folder.take_port(None)


def test_a_port_whose_connections_have_just_ended_is_free():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        client = socket.create_connection(("127.0.0.1", port))
        accepted, _ = server.accept()
        assert not is_free(port)
        accepted.close()  # by the server first: the port then waits, as after a stop
        client.close()
    assert is_free(port)


def test_where_the_usual_ports_are_in_use_any_free_one_is_taken(monkeypatch):
    tried = []
    monkeypatch.setattr(ports, "is_free", tried.append)
    assert lasting_port() not in tried
    assert tried[0] == 8080
