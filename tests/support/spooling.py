"""A process that writes a spool with no hub, as a training on a cluster does; driven by lines.

`python -m tests.support.spooling`, with KMONITOR_HOME, KMONITOR_SPOOL and a job's variables set.
Prints its run's id. Each line of its input is a number of samples to emit, "end" or "die".
"""

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from kmonitor_agent.guard import FaultLog
from kmonitor_agent.link.hub_choice import parse_hub
from kmonitor_agent.link.link import Link
from kmonitor_agent.recording.privacy import Privacy
from kmonitor_agent.recording.process_facts import default_run_name, session_started
from kmonitor_agent.wire.local.folders import find_folders
from kmonitor_agent.wire.messages.events import Sample, SessionEnded
from kmonitor_agent.wire.messages.fields import new_id
from tests.support.waiting import DEADLINE_S

ROOT = Path(__file__).parents[2]

OTHER_NAMESPACE = ("unshare", "--pid", "--fork", "--kill-child")
"""Words before a command that runs in its own PID namespace, as in a container."""


def can_unshare() -> bool:
    """True if such a namespace can be made here."""
    unshare = shutil.which("unshare")
    if unshare is None:
        return False
    tried = [unshare, *OTHER_NAMESPACE[1:], "true"]
    return subprocess.run(tried, capture_output=True, check=False).returncode == 0


class SpoolingProcess:
    """Such a process, from the outside.

    Attributes:
        run: Its run's id.
        process: It.
    """

    def __init__(self, environ: Mapping[str, str], *before: str) -> None:
        """Start it and wait for its run's id.

        Args:
            environ: Variables on top of the test's own.
            before: Words before the command, such as `unshare --pid --fork`.
        """
        self.process = subprocess.Popen(
            [*before, sys.executable, "-m", "tests.support.spooling"],
            cwd=ROOT,
            env={**os.environ, "KMONITOR_HUB": "off", **environ},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.run = self._heard()

    def tell(self, order: str) -> None:
        """Have it do something, and wait until that is in its spool."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{order}\n")
        self.process.stdin.flush()
        if order.isdigit():
            assert self._heard() == "spooled"
        else:
            self.process.wait(DEADLINE_S)

    def close(self) -> None:
        """End it, whatever it does."""
        self.process.kill()
        self.process.wait(DEADLINE_S)
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()

    def _heard(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()


@contextmanager
def spooling(environ: Mapping[str, str], *before: str) -> Iterator[SpoolingProcess]:
    """Such a process, ended at the end of the block."""
    process = SpoolingProcess(environ, *before)
    try:
        yield process
    finally:
        process.close()


def main() -> None:
    """Do what the input says."""
    run, session, folders = new_id(), new_id(), find_folders()
    started = session_started(
        session_id=session,
        name=default_run_name(),
        wall_s=time.time(),
        interval_s=1.0,
        privacy=Privacy(private=False),
        state=folders.state,
    )
    link = Link(
        run=run,
        session_id=session,
        folders=folders,
        started=started,
        hub=parse_hub(None, os.environ),
        on_command=lambda _command: None,
        faults=FaultLog(),
    )
    link.start()
    _say(run)
    emitted = 0
    for line in sys.stdin:
        order = line.strip()
        if order == "die":
            os._exit(9)
        if order == "end":
            break
        for _ in range(int(order)):
            link.emit(Sample(t_s=link.now_s(), fit=1, step=emitted, ram_bytes=1e9))
            emitted += 1
        while link.status().last_seq <= emitted:  # the session's own event is the first
            threading.Event().wait(0.005)
        _say("spooled")
    link.emit(SessionEnded(t_s=link.now_s(), why="finished"))
    link.close()


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
