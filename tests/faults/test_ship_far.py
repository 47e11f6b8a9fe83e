"""Spools of a folder go to a hub elsewhere: over a real sshd that is cut amid, and with keys."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import Popen

import psutil
import pytest

from kmonitor.cli.main import main
from kmonitor.connect.hub_client import HubClient
from kmonitor.connect.local_hub import ensure_hub
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.local.host_identity import own_keys
from kmonitor_agent.wire.messages.access_messages import KeyGrant
from kmonitor_agent.wire.messages.codec import decode_event
from kmonitor_agent.wire.messages.events import Sample
from tests.support.command_line import start_kmonitor
from tests.support.direct_hub import ListeningHub, listening_hub
from tests.support.spooling import spooling
from tests.support.ssh_host import NAME, SshHost, live_ssh_host, ssh_host
from tests.support.waiting import DEADLINE_S, wait_until

__all__ = ["listening_hub", "live_ssh_host", "ssh_host"]

pytestmark = pytest.mark.slow


def steps(client: HubClient, run: str) -> list[int]:
    events = [decode_event(row.body) for row in client.all_rows(run)]
    return [event.step for event in events if isinstance(event, Sample)]


def has(client: HubClient, run: str, n: int) -> Callable[[], bool]:
    return lambda: any(known.run == run and (known.step or 0) >= n for known in client.runs())


@contextmanager
def ended(process: Popen[str]) -> Iterator[None]:
    """Whatever happens, it does not go on."""
    try:
        yield
    finally:
        process.terminate()


@pytest.mark.ssh
@pytest.mark.full
def test_what_is_cut_amid_is_gone_on_with_over_a_new_connection_and_nothing_comes_twice(
    live_ssh_host: SshHost, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shared = tmp_path / "shared"
    ensure_hub(live_ssh_host.there)
    with (
        spooling({"KMONITOR_SPOOL": str(shared)}) as process,
        HubClient(folders=live_ssh_host.there) as there,
    ):
        process.tell("3000")
        with start_kmonitor("ship", shared, "--host", NAME, "--follow") as ship, ended(ship):
            wait_until(has(there, process.run, 2999), what="the first of it")
            for each in psutil.Process(ship.pid).children(recursive=True):
                each.kill()
            process.tell("3000")
            wait_until(has(there, process.run, 5999), what="the rest of it")
            ship.send_signal(signal.SIGINT)
            out, err = ship.communicate(timeout=DEADLINE_S)
        process.tell("end")
        capsys.readouterr()
        assert main(["ship", str(shared), "--host", NAME, "--delete-shipped"]) == 0
        said = capsys.readouterr().out
        (run,) = there.runs()

        assert ship.returncode == 130
        assert "Retrying." in err
        assert f"in {shared} sent to the hub on {NAME}" in out
        assert "deleted" in said
        assert steps(there, process.run) == list(range(6000))
        assert (run.gaps, run.is_shipped, run.state) == (0, True, "finished")
        assert not list(shared.rglob("*.events"))


def test_a_hub_with_keys_takes_spools_of_a_device_that_was_let_in_as_agent(
    listening_hub: ListeningHub,
    folders: Folders,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    shared, url = tmp_path / "shared", listening_hub.address.url
    folders.state.mkdir(parents=True)
    mine = own_keys(folders, "agent").public_text
    with spooling({"KMONITOR_SPOOL": str(shared)}) as process:
        process.tell("300")
        process.tell("end")

    assert main(["ship", str(shared), "--hub", url]) == 1
    assert f"kmonitor authorize {mine} --role agent" in capsys.readouterr().err
    listening_hub.client.keys(authorize=KeyGrant(key=mine, name="cluster", role="agent"))
    assert main(["ship", str(shared), "--hub", url, "--json"]) == 0
    assert '"events":302' in capsys.readouterr().out.replace(" ", "")
    assert main(["hosts", "add", url, "--name", "far", "--untried"]) == 0
    assert main(["ship", str(shared), "--host", "far"]) == 0
    assert "0 events of 1 run" in capsys.readouterr().out
    assert steps(listening_hub.client, process.run) == list(range(300))


def test_a_host_that_is_not_reached_is_told_and_nothing_is_removed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shared = tmp_path / "shared"
    with spooling({"KMONITOR_SPOOL": str(shared)}) as process:
        process.tell("3")
        process.tell("end")

    for options in (["--host", "no-such-host.invalid"], ["--host", "-x"], ["--host=-x"]):
        assert main(["ship", str(shared), "--delete-shipped", *options]) != 0
    assert main(["ship", str(shared), "--host", "a", "--hub", "b"]) == 2
    said = capsys.readouterr().err
    assert "Unknown host: no-such-host.invalid" in said
    assert list(shared.rglob("*.events"))
