"""A process that carries out commands as a training does, and writes down each one that ran.

`python -m tests.support.obedient_agent RUN STARTED SECONDS`, with KMONITOR_HOME set: a session of
that run, which appends the id of every command that it starts to the file STARTED and takes so
long for each. It ends when its input is closed.
"""

import os
import queue
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from kmonitor_agent.guard import FaultLog
from kmonitor_agent.link.hub_choice import HubChoice
from kmonitor_agent.link.link import Link
from kmonitor_agent.wire.local.folders import find_folders
from kmonitor_agent.wire.messages.events import CommandProgress, SessionStarted
from kmonitor_agent.wire.messages.fields import new_id

if TYPE_CHECKING:
    from kmonitor_agent.wire.messages.commands import Command


def main() -> None:
    """Obey until no one is left to command."""
    run, started_file, takes_s = sys.argv[1], Path(sys.argv[2]), float(sys.argv[3])
    asked: queue.Queue[Command | None] = queue.Queue()
    session = new_id()
    started = SessionStarted(
        t_s=0.0,
        session=session,
        name="obedient",
        host=os.uname().nodename,
        pid=os.getpid(),
        pid_namespace=os.stat("/proc/self/ns/pid").st_ino,  # noqa: PTH116 - as the agent does
        started_wall_s=time.time(),
        actions=["save"],
    )
    link = Link(
        run=run,
        session_id=session,
        folders=find_folders(),
        started=started,
        hub=HubChoice(),
        on_command=asked.put,
        faults=FaultLog(),
    )
    link.start()
    threading.Thread(target=lambda: (sys.stdin.read(), asked.put(None)), daemon=True).start()
    while (command := asked.get()) is not None:
        link.emit(CommandProgress(t_s=link.now_s(), id=command.id, name="save", state="started"))
        with started_file.open("a", encoding="utf-8") as file:
            file.write(command.id + "\n")
        threading.Event().wait(takes_s)
        link.emit(CommandProgress(t_s=link.now_s(), id=command.id, name="save", state="done"))
    link.close(timeout_s=2.0)


if __name__ == "__main__":
    main()
