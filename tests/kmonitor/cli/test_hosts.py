"""`kmonitor hosts` and `kmonitor hub ensure`, in this process; ssh is in other tests."""

import json
import re

import pytest

from kmonitor.cli.main import main
from kmonitor.cli.purge import find_own_files
from kmonitor.connect.local_hub import stop_hub
from kmonitor.connect.remembered_hosts import HostStore
from kmonitor_agent.wire.local.folders import Folders


def test_hosts_are_remembered_listed_renamed_and_forgotten(
    folders: Folders, capsys: pytest.CaptureFixture[str]
):
    assert main(["hosts"]) == 0
    assert "kmonitor hosts add gpu-01" in capsys.readouterr().out
    assert main(["hosts", "add", "me@gpu-01", "--command", "/opt/kmonitor", "--untried"]) == 0
    assert main(["hosts", "rename", "me@gpu-01", "big one"]) == 0
    capsys.readouterr()
    assert main(["hosts", "--json"]) == 0
    (host,) = json.loads(capsys.readouterr().out)
    assert host == {
        "address": "me@gpu-01",
        "name": "big one",
        "command": "/opt/kmonitor",
        "socket": "",
        "error": "",
    }
    assert main(["hosts"]) == 0
    assert "big one" in capsys.readouterr().out
    assert main(["hosts", "remove", "big one"]) == 0
    assert main(["hosts", "remove", "big one"]) == 1
    assert "Unknown host" in capsys.readouterr().err
    assert HostStore(folders).hosts() == []


@pytest.mark.parametrize(
    "arguments",
    [
        ("runs", "--host", "-oProxyCommand=x"),
        ("runs", "prune", "--older-than", "0s", "--yes", "--host="),
        ("hosts", "add", "a b"),
        ("show", "x", "--host", "a;b"),
        ("audit", "--host", "a\nb"),
        ("runs", "pin", "x", "--host=-oX"),
        ("hosts", "add", "gpu-01:22"),
        ("hosts", "add", "-oX"),
        ("hosts", "add", "--", "-oX"),
    ],
)
def test_what_is_no_host_is_refused_before_ssh(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
):
    assert main(arguments) != 0
    assert "host" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "why", "remedy"),
    [
        ("hosts add -- -oX --untried", "--untried comes after --", "before it"),
        ("hosts rename -x y", '"-x" is not a host name', "gpu-01"),
        ("hub stop --host gpu-01", "has no --host", "ssh gpu-01 kmonitor hub stop\n"),
        ("checkpoints last --host=me@a", "has no --host", "ssh me@a kmonitor checkpoints last\n"),
        ("purge --host -oX", "has no --host", "ssh HOST kmonitor purge\n"),
        ("keys mine --hub tcp://a", "has no --hub", "ssh HOST kmonitor keys mine\n"),
    ],
)
def test_an_option_that_a_command_does_not_have_is_explained(
    arguments: str, why: str, remedy: str, capsys: pytest.CaptureFixture[str]
):
    assert main(arguments.split()) == 2
    said = capsys.readouterr().err
    assert why in said
    assert remedy in said


def test_the_option_that_a_mistyped_one_is_near_to_is_told(capsys: pytest.CaptureFixture[str]):
    assert main(["runs", "--hots", "a"]) == 2
    said = capsys.readouterr().err
    # The parser says it, and its older versions put it in quotes.
    assert re.search(r'Did you mean ("?)--host\1\?', said)
    assert "kmonitor runs --help" in said


def test_a_damaged_file_of_hosts_is_told(folders: Folders, capsys: pytest.CaptureFixture[str]):
    folders.settings.mkdir(parents=True)
    (folders.settings / "hosts.json").write_text("{")

    assert main(["hosts"]) == 0
    assert "renamed" in capsys.readouterr().err


def test_purge_knows_the_files_of_hosts(folders: Folders):
    book = HostStore(folders)
    book.add("gpu-01")
    (folders.settings / "no-hub").touch()
    (folders.settings / "hosts-damaged-20261121-101112.json").touch()
    (folders.settings / "hosts-of-mine.json").touch()

    found = find_own_files(folders)

    assert [path.name for path in found.others] == ["hosts-of-mine.json"]
    assert len(found.ours) == 4


def test_ensure_refuses_where_the_hub_is_switched_off(
    folders: Folders, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("KMONITOR_HUB", "off")
    assert main(["hub", "ensure", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["error"] == "disabled"
    monkeypatch.delenv("KMONITOR_HUB")
    folders.settings.mkdir(parents=True)
    (folders.settings / "no-hub").write_text("login node,\nuse node 7")

    assert main(["hub", "ensure"]) == 1
    assert "(login node, use node 7)" in capsys.readouterr().err


@pytest.mark.slow
def test_ensure_starts_a_hub_and_says_where_it_is(
    folders: Folders, capsys: pytest.CaptureFixture[str]
):
    try:
        assert main(["hub", "ensure", "--json"]) == 0
        told = json.loads(capsys.readouterr().out)
        assert main(["hub", "ensure"]) == 0
    finally:
        stop_hub(folders)

    assert set(told) == {"socket", "version", "pid", "host", "hub", "python", "protocol"}
    assert told["socket"].endswith("/view.sock")


@pytest.mark.slow
def test_a_home_that_cannot_be_made_is_told_as_json(
    folders: Folders, capsys: pytest.CaptureFixture[str]
):
    folders.state.parent.mkdir(parents=True, exist_ok=True)
    folders.state.write_text("a file in the way")

    assert main(["hub", "ensure", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["error"] == "failed"
    assert told["what"]
