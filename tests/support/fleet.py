"""A process of several trainings that never train: real links, real commands, made-up figures.

`python -m tests.support.fleet PER_S`, with KMONITOR_HOME set. Reads a line for each thing to do:
`start NAME`, `end NAME`, `die NAME` (without a word). Ends with its input.
"""

import os
import queue
import sys
import threading
import time
from collections import deque
from typing import Final

from kmonitor_agent.guard import FaultLog
from kmonitor_agent.link.agent_thread import AgentThread
from kmonitor_agent.link.hub_choice import HubChoice
from kmonitor_agent.link.link import Link
from kmonitor_agent.wire.local.folders import find_folders
from kmonitor_agent.wire.messages.commands import Command, CommandName, LimitSpec, SetLimits
from kmonitor_agent.wire.messages.events import (
    ActionRecord,
    CommandProgress,
    EpochEnded,
    EpochStarted,
    FitStarted,
    Footprint,
    LimitsInForce,
    Paused,
    Sample,
    SessionEnded,
    SessionStarted,
    StepTimes,
)
from kmonitor_agent.wire.messages.fields import new_id

ACTIONS: Final[list[CommandName]] = [
    "save",
    "collect",
    "reload",
    "pause",
    "resume",
    "stop",
    "set_limits",
]
_EPOCHS = 400
_EPOCH_SAMPLES = 8
_GIB = 2.0**30


class Training:
    """One run; `step` it at an even rate, `close` it."""

    def __init__(self, name: str) -> None:
        self._commands: deque[Command] = deque()
        self._limits: list[LimitSpec] = []
        self._step = 0
        self._is_paused = False
        session = new_id()
        started = SessionStarted(
            t_s=0.0,
            session=session,
            name=name,
            host=os.uname().nodename,
            pid=os.getpid(),
            pid_namespace=os.stat("/proc/self/ns/pid").st_ino,  # noqa: PTH116 - as the agent does
            started_wall_s=time.time(),
            backend="tensorflow",
            actions=ACTIONS,
        )
        self._link = Link(
            run=new_id(),
            session_id=session,
            folders=find_folders(),
            started=started,
            hub=HubChoice(),
            on_command=self._commands.append,
            faults=FaultLog(),
            agent=AgentThread(),  # as a separate process
        )
        self._link.start()
        fit = FitStarted(
            t_s=0.0, fit=1, model="net", epochs=_EPOCHS, steps=_EPOCH_SAMPLES, batch_size=32
        )
        self._link.emit(fit)

    def step(self) -> None:
        """A sample, epochs around it, and the requested actions."""
        while self._commands:
            self._obey(self._commands.popleft())
        if self._is_paused:
            return
        epoch, step = divmod(self._step, _EPOCH_SAMPLES)
        if step == 0:
            self._link.emit(EpochStarted(t_s=self._link.now_s(), fit=1, epoch=epoch))
        ram_bytes = (2.0 + 0.01 * self._step) * _GIB
        self._link.emit(
            Sample(
                t_s=self._link.now_s(),
                fit=1,
                epoch=epoch,
                step=step,
                ram_bytes=ram_bytes,
                ram_of_bytes=64 * _GIB,
                vram_bytes=ram_bytes / 2,
                allocator_in_use_bytes=ram_bytes / 3,
                graph_operations=500.0 + 3 * epoch,
                step_time_s=0.02,
            )
        )
        if step == _EPOCH_SAMPLES - 1:
            self._end_epoch(epoch)
        self._step += 1

    def end(self) -> None:
        """It has finished."""
        self._link.emit(SessionEnded(t_s=self._link.now_s(), why="finished"))
        self.close()

    def close(self) -> None:
        """End its thread; nothing more is sent."""
        self._link.close(timeout_s=1.0)

    def _end_epoch(self, epoch: int) -> None:
        step_s = 0.02 + 0.0001 * epoch
        times = StepTimes(
            count=_EPOCH_SAMPLES,
            mean_s=step_s,
            p50_s=step_s,
            p95_s=step_s,
            p99_s=step_s,
            max_s=step_s,
        )
        ended = EpochEnded(
            t_s=self._link.now_s(),
            fit=1,
            epoch=epoch,
            seconds=1.0,
            steps=_EPOCH_SAMPLES,
            logs={"loss": 1.0 / (epoch + 1)},
            step_times=times,
        )
        self._link.emit(ended)

    def _obey(self, command: Command) -> None:
        self._tell(command, "started")
        now_s = self._link.now_s()
        if isinstance(command.args, SetLimits):
            kept = [each for each in self._limits if each.metric not in command.args.metrics]
            self._limits = [*kept, *command.args.limits]
            self._link.emit(LimitsInForce(t_s=now_s, limits=self._limits))
        elif command.name in {"pause", "resume", "stop"}:
            # A run that stops here would leave the window with nothing to show.
            self._is_paused = command.name == "pause"
            self._link.emit(Paused(t_s=now_s, paused=self._is_paused))
        elif command.name == "save" or command.name == "collect" or command.name == "reload":  # noqa: PLR1714
            before = Footprint(ram_process_bytes=4 * _GIB, graph_operations=900)
            after = Footprint(ram_process_bytes=2 * _GIB, graph_operations=500)
            record = ActionRecord(
                t_s=now_s,
                action=command.name,
                ok=True,
                requested_by=command.requested_by or "desktop",
                fit=1,
                epoch=self._step // _EPOCH_SAMPLES,
                seconds=0.4,
                before=before,
                after=after,
                command=command.id,
            )
            self._link.emit(record)
        self._tell(command, "done")

    def _tell(self, command: Command, state: str) -> None:
        progress = CommandProgress(
            t_s=self._link.now_s(),
            id=command.id,
            name=command.name,
            state=state,  # pyright: ignore[reportArgumentType]
        )
        self._link.emit(progress)


def main() -> None:
    """Train until no one requests anything any more."""
    per_s = float(sys.argv[1])
    asked: queue.Queue[str | None] = queue.Queue()
    threading.Thread(target=_read, args=(asked,), daemon=True).start()
    trainings: dict[str, Training] = {}
    while True:
        try:
            line = asked.get(timeout=1 / per_s)
        except queue.Empty:
            for training in list(trainings.values()):
                training.step()
            continue
        if line is None:
            break
        _do(trainings, *line.split())
    for training in trainings.values():
        training.close()


def _read(asked: "queue.Queue[str | None]") -> None:
    for line in sys.stdin:
        asked.put(line)
    asked.put(None)


def _do(trainings: dict[str, Training], what: str, name: str) -> None:
    before = trainings.pop(name, None)
    if what == "start":
        trainings[name] = Training(name)
    if before is None:
        return
    if what == "end":
        before.end()
    else:
        before.close()


if __name__ == "__main__":
    main()
