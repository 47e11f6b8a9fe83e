"""A process that emits numbered samples at an even rate through a real link until its input says
so.

`python -m tests.support.steady_source HUB PER_S`, with KMONITOR_HOME set: HUB is what `hub=` of a
script takes ("" is this user's own). Writes its run's id, ends with the line that it reads, and
writes one JSON line: the number that it emitted, the percentiles of the time that an emit took, in
microseconds, and the faults of the link.
"""

import json
import os
import sys
import threading
import time

from kmonitor_agent.guard import FaultLog
from kmonitor_agent.link.agent_thread import AgentThread
from kmonitor_agent.link.hub_choice import parse_hub
from kmonitor_agent.link.link import Link
from kmonitor_agent.wire.local.folders import find_folders
from kmonitor_agent.wire.messages.events import Sample, SessionStarted
from kmonitor_agent.wire.messages.fields import new_id


def new_link(
    name: str, hub: str, faults: FaultLog, agent: AgentThread | None = None
) -> tuple[str, Link]:
    """A started link of its own run, with the intervals that users have.

    Args:
        name: The run's name.
        hub: As in `KMONITOR_HUB`.
        faults: Sink for its faults.
        agent: Agent whose thread serves it; None: a new one, as in a separate process.
    """
    run, session = new_id(), new_id()
    started = SessionStarted(
        t_s=0.0,
        session=session,
        name=name,
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
        hub=parse_hub(hub or "local", {}),
        on_command=lambda _command: None,
        faults=faults,
        agent=AgentThread() if agent is None else agent,
    )
    link.start()
    return run, link


def main() -> None:
    """Emit until a line is read."""
    hub, per_s = sys.argv[1], float(sys.argv[2])
    faults = FaultLog()
    run, link = new_link("steady", hub, faults)
    sys.stdout.write(run + "\n")
    sys.stdout.flush()
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.readline(), ended.set()), daemon=True).start()
    took_us: list[float] = []
    while not ended.wait(1 / per_s):
        began_ns = time.perf_counter_ns()
        link.emit(Sample(t_s=link.now_s(), fit=1, step=len(took_us), ram_bytes=1e9))
        took_us.append((time.perf_counter_ns() - began_ns) / 1000)
    link.close(timeout_s=20.0)
    in_order = sorted(took_us)
    told = {
        "count": len(took_us),
        "p50_us": in_order[len(in_order) // 2],
        "p99_us": in_order[int(len(in_order) * 0.99)],
        "faults": faults.counts(),
    }
    sys.stdout.write(json.dumps(told) + "\n")


if __name__ == "__main__":
    main()
