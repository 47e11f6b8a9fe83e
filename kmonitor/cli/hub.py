"""`kmonitor hub`: the hub without a window; is it there, and make it stop."""

import os
import threading
import time
from contextlib import suppress
from typing import Annotated

from cyclopts import App, Parameter

from kmonitor.cli.hub_access import folder_faults_named
from kmonitor.cli.statuses import DONE, FAILED
from kmonitor.cli.terminal import complain, counted, fields_of, say, say_json
from kmonitor.connect.home import lack_of_room
from kmonitor.connect.hub_client import HubClient
from kmonitor.connect.local_hub import hub_answers, stop_hub
from kmonitor.errors import Expected
from kmonitor.hub import service
from kmonitor.presenters.formats import bytes_text, duration_text, plain_text
from kmonitor_agent.local.folders import Folders, find_folders
from kmonitor_agent.local.sockets import NotPrivate
from kmonitor_agent.protocol.messages import HubTold

_LOOK_AGAIN_S = 0.05
_ANSWER_S = 0.5
"""How long the hub of this process may take to answer itself, seconds."""

app = App(
    name="hub",
    help="Run the hub in this terminal, without a window. Trainings send to it, `kmonitor` and "
    "the other commands read from it; they start one by themselves when none answers.",
)
app.command("kmonitor.cli.hub_ensure:ensure", name="ensure", help="See that a hub runs here.")


@app.default
def run(*, bind: Annotated[str, Parameter(name="--bind")] = "") -> int:
    """Run the hub until Ctrl+C, SIGTERM or `kmonitor hub stop`.

    Args:
        bind: Also listen on the network at this ADDRESS:PORT, such as 0.0.0.0:5577: encrypted,
            and only for keys that were let in with `kmonitor authorize`.
    """
    folders = find_folders()
    is_over = threading.Event()
    saying = threading.Thread(
        target=_say_once_it_runs, args=(folders, is_over), name="kmonitor-hub-says", daemon=True
    )
    saying.start()
    try:
        with folder_faults_named(folders):
            _serve(folders, bind)
    finally:
        is_over.set()
        saying.join()
    return DONE


def _serve(folders: Folders, bind: str) -> None:
    try:
        service.run(folders, bind=bind)
    except service.CannotStart as exc:
        if isinstance(exc.__cause__, NotPrivate) or not lack_of_room(folders):
            raise
        remedy = "Free some space there, or set KMONITOR_HOME to a folder that you can write to."
        raise Expected(exc.what, exc.remedy or remedy) from exc


def _say_once_it_runs(folders: Folders, is_over: threading.Event) -> None:
    while not is_over.wait(_LOOK_AGAIN_S):
        # What is wrong with the folders, the main thread tells; a reader that left is no fault.
        with suppress(Expected, NotPrivate, OSError):
            told = hub_answers(folders, timeout_s=_ANSWER_S)
            if told is not None and told.pid == os.getpid():
                say("The hub runs here until Ctrl+C, or: kmonitor hub stop")
                _say_where_it_listens(folders)
                return


def _say_where_it_listens(folders: Folders) -> None:
    with HubClient(folders=folders) as client:
        told = client.keys()
    if told.address:
        say(f"It listens at: {told.address}")
    if told.address and not told.keys:
        say("No key may connect yet: kmonitor authorize KEY --role ROLE --name NAME")


@app.command
def status(*, json: Annotated[bool, Parameter(name="--json", negative="")] = False) -> int:
    """Say whether a hub answers for this user. Exit status 1 when none does.

    Args:
        json: One JSON object, or null when none answers.
    """
    folders = find_folders()
    with folder_faults_named(folders):
        told = hub_answers(folders)
    if json:
        say_json(None if told is None else fields_of(told))
    elif told is None:
        complain("No hub answers. One starts with: kmonitor, kmonitor runs, or kmonitor hub")
    else:
        say(hub_words(told))
    return FAILED if told is None else DONE


@app.command
def stop() -> int:
    """Stop the hub. Trainings go on; what they tell waits on disk for the next hub."""
    folders = find_folders()
    with folder_faults_named(folders):
        told = hub_answers(folders)
        if told is None:
            say("No hub answers; nothing to stop.")
            return DONE
        stop_hub(folders)
    say(f"Hub stopped (process {told.pid}).")
    return DONE


def hub_words(told: HubTold) -> str:
    """One line about a hub that answered."""
    up_s = max(0.0, time.time() - told.started_wall_s)
    text = (
        f"Hub {told.version} answers: process {told.pid}, up {duration_text(up_s)}, "
        f"{counted(told.agents, 'training')} and {counted(told.viewers, 'viewer')} connected, "
        f"{counted(told.rows, 'event')} in {bytes_text(told.database_bytes)}"
    )
    return plain_text(text)
