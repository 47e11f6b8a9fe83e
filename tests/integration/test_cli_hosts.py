"""The command line reaches a hub on another host, over a real sshd on loopback."""

from pathlib import Path

import pytest

from kmonitor.connect.local_hub import ensure_hub, stop_hub
from kmonitor_agent.wire.local.folders import Folders
from tests.support.command_line import kmonitor
from tests.support.simulated_agent import SimulatedAgent
from tests.support.ssh_host import NAME, SshHost, live_ssh_host, ssh_host

__all__ = ["live_ssh_host", "ssh_host"]

pytestmark = [pytest.mark.ssh, pytest.mark.slow]


def test_a_run_there_is_listed_and_commanded_from_here(live_ssh_host: SshHost) -> None:
    ensure_hub(live_ssh_host.there)
    with SimulatedAgent(live_ssh_host.there, name="far") as agent:
        agent.start_fit(epochs=3)
        agent.start_epoch()
        agent.wait_acked()

        (run,) = kmonitor("runs", "--json", "--host", NAME).json
        done = kmonitor("command", "far", "save", "--wait", "--host", NAME)

    assert (run["run"], run["name"]) == (agent.run, "far")
    assert done.status == 0, done.err
    assert [command.name for command in agent.commands] == ["save"]


def test_a_host_that_forbids_sockets_is_named_and_not_remembered(ssh_host: SshHost) -> None:
    ssh_host.may_forward = False
    ssh_host.start()

    listed = kmonitor("runs", "--host", NAME)
    added = kmonitor("hosts", "add", NAME)

    for refused in (listed, added):
        assert refused.status == 1
        assert f"{NAME} does not allow socket forwarding" in refused.err
        assert "AllowStreamLocalForwarding yes" in refused.err
    assert "answers" not in added.out
    assert "No hosts yet" in kmonitor("hosts").out


@pytest.mark.full
def test_runs_there_are_pinned_pruned_and_the_audit_there_says_who(
    live_ssh_host: SshHost,
) -> None:
    ensure_hub(live_ssh_host.there)
    with SimulatedAgent(live_ssh_host.there, name="far") as agent:
        agent.start_fit(epochs=1)
        agent.end_boot()
        agent.wait_acked()
    there = ("--host", NAME)
    prune = ("runs", "prune", "--older-than", "0s", "--yes", *there)

    assert kmonitor("runs", "pin", "far", *there).status == 0
    assert "No ended run" in kmonitor(*prune).out
    assert kmonitor("runs", "unpin", "far", *there).status == 0
    assert "1 run removed" in kmonitor(*prune).out
    rows = kmonitor("audit", "--json", *there).json

    assert [(row["who"], row["what"]) for row in rows] == [
        ("this user", "pin"),
        ("this user", "unpin"),
        ("this user", "delete"),
    ]
    assert kmonitor("keys", "list", "--json", *there).json["keys"] == []


@pytest.mark.gui
@pytest.mark.full
def test_the_window_draws_a_run_of_a_remembered_host_and_says_whom_it_asked_in_vain(
    live_ssh_host: SshHost, folders: Folders, tmp_path: Path
) -> None:
    ensure_hub(live_ssh_host.there)
    picture = tmp_path / "far.png"
    draw = ("--screenshot", picture, "--run")
    with SimulatedAgent(live_ssh_host.there, name="far") as agent:
        agent.start_fit(epochs=1)
        agent.start_epoch()
        agent.sample()
        agent.end_epoch()
        agent.wait_acked()
        named = kmonitor(*draw, "far", "--host", NAME)
        assert (named.status, named.err) == (0, "")
        assert picture.stat().st_size > 10_000
        assert kmonitor("hosts", "--json").json == []
        picture.unlink()
        for address in (NAME, "no-such-host.invalid"):
            kmonitor("hosts", "add", address, "--untried")
        found = kmonitor(*draw, "far")
        none = kmonitor(*draw, "nobody")
    stop_hub(folders)

    assert (found.status, found.err) == (0, "")
    assert picture.stat().st_size > 10_000
    assert none.status == 1
    assert none.err.splitlines()[:5] == [
        'kmonitor: No host has a run that matches "nobody".',
        "Searched:",
        "  this machine: no runs",
        f"  {NAME}: 1 run, no match",
        "  no-such-host.invalid: Unknown host: no-such-host.invalid.",
    ]


@pytest.mark.full
def test_a_host_is_added_once_it_answers_shown_and_exported(live_ssh_host: SshHost) -> None:
    added = kmonitor("hosts", "add", NAME, "--name", "big one")
    assert added.status == 0, added.err
    assert "found on the PATH" in added.out
    with SimulatedAgent(live_ssh_host.there, name="far") as agent:
        agent.start_fit(epochs=1)
        agent.start_epoch()
        agent.end_epoch()
        agent.wait_acked()
        shown = kmonitor("show", "last", "--host", "big one")
        exported = kmonitor("export", "last", "--format", "json", "--host", "big one")

    assert shown.status == exported.status == 0
    assert "far" in shown.out
    assert any(line["type"] == "epoch_end" for line in exported.lines)
    refused = kmonitor("runs", "--host", "no-such-host.invalid")
    assert refused.status == 1
    assert "Unknown host: no-such-host.invalid" in refused.err
