"""Message of a command when the hub that it queries is lost meanwhile."""

import errno
import os
from collections.abc import Generator
from contextlib import contextmanager

import msgspec
import pytest

from kmonitor.base.errors import UserError
from kmonitor.cli.common import hub_access
from kmonitor.cli.common.hub_access import folder_faults_named, open_hub, print_hub_problems
from kmonitor.connect.host_errors import HostError
from kmonitor.connect.hub_client import HubUnreachable
from kmonitor.connect.local_hub import HubSilent
from kmonitor.hub.lock import HubLock
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.local.hub_address import hub_lock_path, ipc_endpoint, view_socket_path
from kmonitor_agent.wire.local.private_files import make_private_folder
from tests.support.made_up_runs import told_hub


def test_what_is_wrong_with_a_hub_elsewhere_says_where(capsys: pytest.CaptureFixture[str]):
    told = msgspec.structs.replace(told_hub(), troubles=["its disk is full"])

    print_hub_problems(told)
    print_hub_problems(told, is_far=True)

    assert capsys.readouterr().err.splitlines() == [
        "kmonitor: its disk is full.",
        "kmonitor: on gpu-01: its disk is full.",
    ]


def test_a_host_that_is_lost_is_named_and_not_the_socket_that_led_there(
    folders: Folders, monkeypatch: pytest.MonkeyPatch
):
    here = ipc_endpoint(view_socket_path(folders))

    @contextmanager
    def reached(_folders: Folders, _host: str, **_more: object) -> Generator[str]:
        yield here

    monkeypatch.setattr(hub_access, "remote_endpoint", reached)
    monkeypatch.setattr(hub_access, "wait_for_spools", lambda _client, _seconds: None)

    with pytest.raises(HostError) as caught, open_hub("gpu-01"):
        raise HubUnreachable(here, 5.0)

    assert "The connection to gpu-01 was lost" in caught.value.what
    assert here not in str(caught.value)
    assert "kmonitor doctor --host gpu-01" in caught.value.remedy


def test_a_hub_that_hangs_is_named_and_no_other_is_to_be_started(
    folders: Folders, monkeypatch: pytest.MonkeyPatch
):
    make_private_folder(folders.runtime)
    lock = HubLock(hub_lock_path(folders))  # as a hub has it that does not respond
    monkeypatch.setattr(hub_access, "require_hub", lambda _folders: None)
    monkeypatch.setattr(hub_access, "wait_for_spools", lambda _client, _seconds: None)

    with pytest.raises(HubSilent, match="is not responding") as caught, open_hub():
        raise HubUnreachable(ipc_endpoint(view_socket_path(folders)), 5.0)
    lock.release()

    assert caught.value.pid == os.getpid()


def test_a_full_disk_asks_for_room_before_another_folder(folders: Folders) -> None:
    with pytest.raises(UserError) as caught, folder_faults_named(folders):
        raise OSError(errno.ENOSPC, "No space left on device")

    assert str(folders.state) in caught.value.what
    assert caught.value.remedy.startswith("Free some space, or set KMONITOR_HOME")
