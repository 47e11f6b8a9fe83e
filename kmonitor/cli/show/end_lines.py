"""How a run ended as `kmonitor show` prints it: its last minute, and what can go on."""

import time

from kmonitor.cli.common.terminal import plain, say
from kmonitor.connect.hub_client import HubClient, HubRefused
from kmonitor.ui.events.last_minute import COLUMNS, LastMinute, asked_from_s, last_minute
from kmonitor.ui.events.run_end import end_picture
from kmonitor.ui.runs.run_states import has_ended_badly
from kmonitor.ui.text.formats import plain_text
from kmonitor_agent.wire.messages.unions import RunSummary


def say_end(client: HubClient, run: RunSummary) -> None:
    """Print it; nothing of a run that goes on or ended well."""
    if not has_ended_badly(run):
        return
    picture = end_picture(run, _minute(client, run), now_wall_s=time.time())
    if not picture.lines:
        return
    say()
    say("Before its end:")
    for line in picture.lines:
        say(f"  {plain(plain_text(line))}")


def _minute(client: HubClient, run: RunSummary) -> LastMinute | None:
    try:
        told = client.series(run.run, COLUMNS, from_s=asked_from_s(run), buckets=4000)
    except HubRefused:
        return None
    return last_minute(told)
