"""A process that emits numbered samples through a real link, and times the confirmations.

`python -m tests.support.event_source COUNT PER_S [END]`, with KMONITOR_HOME set. END is "close"
(the default) or "die", which ends the process without a word once everything was emitted. Writes
one JSON line: run, count, seconds, and percentiles of the time from emit to confirmation.
"""

import json
import os
import sys
import time

from kmonitor_agent.guard import FaultLog
from kmonitor_agent.link.hub_choice import HubChoice
from kmonitor_agent.link.link import Link
from kmonitor_agent.wire.local.folders import find_folders
from kmonitor_agent.wire.messages.events import Sample, SessionStarted
from kmonitor_agent.wire.messages.fields import new_id
from tests.support.waiting import DEADLINE_S

_TICK_S = 0.01


def main() -> None:
    """Emit at an even rate, wait for the last confirmation, print the figures."""
    count, per_s = int(sys.argv[1]), float(sys.argv[2])
    run, session = new_id(), new_id()
    started = SessionStarted(
        t_s=0.0,
        session=session,
        name="event source",
        host=os.uname().nodename,
        pid=os.getpid(),
        pid_namespace=os.stat("/proc/self/ns/pid").st_ino,  # noqa: PTH116 - as the agent does
        started_wall_s=time.time(),
    )
    link = Link(
        run=run,
        session_id=session,
        folders=find_folders(),
        started=started,
        hub=HubChoice(),
        on_command=lambda _command: None,
        faults=FaultLog(),
    )
    link.start()
    # The figure is that of a training under way, not of a process that starts.
    end_s = time.monotonic() + 5.0
    while sys.argv[3:] != ["die"] and not link.status().acked and time.monotonic() < end_s:
        time.sleep(_TICK_S)
    emitted_s, confirmed_s = _emit(link, count, per_s)
    if sys.argv[3:] == ["die"]:
        _tell({"run": run, "count": count})
        os._exit(9)
    link.close(timeout_s=10.0)
    waits = sorted(b - a for a, b in zip(emitted_s, confirmed_s, strict=True))
    _tell(
        {
            "run": run,
            "count": count,
            "seconds": confirmed_s[-1] - emitted_s[0],
            "p50_s": waits[len(waits) // 2],
            "p99_s": waits[int(len(waits) * 0.99)],
            "max_s": waits[-1],
        }
    )


def _emit(link: Link, count: int, per_s: float) -> tuple[list[float], list[float]]:
    emitted_s: list[float] = []
    confirmed_s: list[float] = []
    begin_s = time.monotonic()
    while len(confirmed_s) < count and time.monotonic() - begin_s < 2 * DEADLINE_S:
        due = min(count, int((time.monotonic() - begin_s) * per_s) + 1)
        while len(emitted_s) < due:
            number = len(emitted_s)
            link.emit(Sample(t_s=link.now_s(), fit=1, step=number, ram_bytes=1e9 + number))
            emitted_s.append(time.monotonic())
        if len(emitted_s) == count and sys.argv[3:] == ["die"]:
            while link.status().last_seq <= count:  # the session's own event is the first
                time.sleep(_TICK_S)
            break
        time.sleep(_TICK_S / 5)
        confirmed = link.status().acked - 1  # the session's own event is the first
        now_s = time.monotonic()
        confirmed_s += [now_s] * (confirmed - len(confirmed_s))
    return emitted_s, confirmed_s


def _tell(figures: dict[str, float | str]) -> None:
    sys.stdout.write(json.dumps(figures) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
