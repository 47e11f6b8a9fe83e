"""Output of `kmonitor doctor` on ssh and hosts; ssh is a script here that prints the same."""

import json
import os
from pathlib import Path

import pytest

from kmonitor.cli.doctor import host_checks
from kmonitor.cli.doctor.host_checks import examine_hosts, examine_ssh
from kmonitor.cli.main import main
from kmonitor.connect.remembered_hosts import HostStore, RememberedHost
from kmonitor_agent.wire.local.folders import Folders
from tests.support.waiting import DEADLINE_S

_SSH = """
case "$*" in
  -V) echo OpenSSH_9.9 >&2;;
  *"-G -- broken") echo "config: line 3: Bad configuration option: x" >&2; exit 255;;
  "-G "*) echo "host x";;
  *slow*) exec sleep 60;;
  *) echo "ssh: Could not resolve hostname $*" >&2; exit 255;;
esac
"""


@pytest.fixture(autouse=True)
def scripts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "scripts"
    place.mkdir()
    script(place / "ssh", _SSH)
    monkeypatch.setenv("PATH", f"{place}:{os.environ['PATH']}")
    monkeypatch.setenv("SSH_AUTH_SOCK", "/agent")
    return place


def script(path: Path, body: str) -> None:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


@pytest.mark.parametrize(
    ("agent", "state", "found"),
    [
        ("printf 'a\\nb\\n'", "ok", "it holds 2 keys"),
        ("exit 1", "note", "it holds no key"),
        ("exit 2", "note", "is not responding"),
    ],
)
def test_client_settings_and_agent_are_named(
    scripts: Path, agent: str, state: str, found: str
) -> None:
    script(scripts / "ssh-add", agent)

    client, settings, keys = examine_ssh([RememberedHost("gpu-01"), RememberedHost("gpu-02")])

    assert (client.state, "OpenSSH_9.9" in client.found) == ("ok", True)
    assert (settings.state, settings.found) == ("ok", "read for 2 hosts")
    assert keys.state == state
    assert found in keys.found


def test_settings_that_cannot_be_read_and_no_agent_are_told_with_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("SSH_AUTH_SOCK")

    _, settings, agent = examine_ssh([RememberedHost("broken")])

    assert settings.state == "bad"
    assert "Bad configuration option" in settings.found
    assert "ssh-agent" in agent.remedy


def test_no_client_is_told_with_the_line_that_installs_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "gone"))

    (client,) = examine_ssh([])

    assert (client.state, "openssh-client" in client.remedy) == ("note", True)


def test_hosts_are_asked_side_by_side_each_within_its_bound(
    folders: Folders, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    book = HostStore(folders)
    for address in ("slow-1", "slow-2"):
        book.add(address)
    with monkeypatch.context() as patch:
        patch.setattr(host_checks, "HOST_S", 0.3)
        found = list(examine_hosts(folders))

    assert [each.subject for each in found] == ["host slow-1", "host slow-2"]
    assert {each.state for each in found} == {"note"}
    assert all("longer than 0.3 s" in each.found for each in found)


def test_a_host_that_nobody_knows_is_told_with_what_to_do(
    folders: Folders, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(host_checks, "HOST_S", DEADLINE_S)
    HostStore(folders).add("nosuch")

    (unknown,) = examine_hosts(folders)

    assert unknown.found == "name: Unknown host: nosuch"
    assert "~/.ssh/config" in unknown.remedy
    assert main(["doctor", "--json", "--host", "nosuch"]) == 1
    subjects = [each["subject"] for each in json.loads(capsys.readouterr().out)]
    assert subjects == ["ssh", "ssh settings", "ssh agent", "host nosuch"]
