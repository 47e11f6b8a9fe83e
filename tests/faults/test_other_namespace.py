"""A training in a PID namespace of its own, as a container has: what the hub says of it."""

import shutil
import subprocess

import pytest

from kmonitor_agent.wire.local.folders import Folders
from tests.support.live_hub import LiveHub
from tests.support.spooling import spooling
from tests.support.waiting import wait_until

_UNSHARE = ("unshare", "--pid", "--fork", "--kill-child")

pytestmark = pytest.mark.full


def _can_unshare() -> bool:
    unshare = shutil.which("unshare")
    if unshare is None:
        return False
    tried = subprocess.run([unshare, *_UNSHARE[1:], "true"], capture_output=True, check=False)
    return tried.returncode == 0


@pytest.mark.skipif(not _can_unshare(), reason="no PID namespace can be made here")
def test_a_killed_process_of_another_pid_namespace_is_silent_and_not_lost(
    live_hub: LiveHub, folders: Folders
):
    with spooling({"KMONITOR_HUB": ""}, *_UNSHARE) as process, live_hub.client() as client:
        process.tell("20")
        wait_until(lambda: client.runs() and client.runs()[0].state == "starting")
        process.tell("die")
        (run,) = wait_until(lambda: [one for one in client.runs() if one.state == "silent"])

    assert "its process cannot be seen from here" in run.state_why
    assert run.cause == ""
