"""`kmonitor hub`: the hub without a window; is it there, and make it stop."""

import time
from typing import Annotated

from cyclopts import App, Parameter

from kmonitor.cli.hub_access import folder_faults_named
from kmonitor.cli.statuses import DONE, FAILED
from kmonitor.cli.terminal import complain, fields_of, say, say_json
from kmonitor.connect.local_hub import hub_answers, stop_hub
from kmonitor.hub import service
from kmonitor.presenters.formats import bytes_text, count_text, duration_text, plain_text
from kmonitor_agent.local.folders import find_folders
from kmonitor_agent.protocol.messages import HubTold

app = App(
    name="hub",
    help="Run the hub in this terminal, without a window. Trainings send to it, `kmonitor` and "
    "the other commands read from it; they start one by themselves when none answers.",
)


@app.default
def run() -> int:
    """Run the hub until Ctrl+C, SIGTERM or `kmonitor hub stop`."""
    say("The hub runs here until Ctrl+C, or: kmonitor hub stop")
    folders = find_folders()
    with folder_faults_named(folders):
        service.run(folders)
    return DONE


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
        f"{told.agents} trainings and {told.viewers} viewers connected, "
        f"{count_text(told.rows)} events in {bytes_text(told.database_bytes)}"
    )
    return plain_text(text)
