"""One attempt of a fold on this machine: monitored and bounded, then judged at its end."""

import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from kmonitor_agent.probes.held_memory import (
    FAILURES,
    PROC,
    FamilyMemory,
    ProcessPages,
    read_pages,
)
from kmonitor_agent.reclaim.restart.child_process import ScriptExit
from kmonitor_agent.reclaim.restart.crash_diagnosis import ProcessDeath, diagnose_exit, signal_name
from kmonitor_agent.studies.attempts import Attempt
from kmonitor_agent.studies.bounds import (
    SilenceTracker,
    StepGaps,
    TimeBound,
    too_much_memory,
)
from kmonitor_agent.studies.fold_messages import (
    FoldAnswer,
    FoldMessage,
    FoldQuestion,
    FoldReady,
    FunctionNotFound,
    FunctionReturned,
    StepProgress,
)
from kmonitor_agent.studies.fold_process import FoldProcess, MemoryCgroup
from kmonitor_agent.studies.values import NotPlainData, pack_value, unpack_value
from kmonitor_agent.wire.local.control_groups import OomKillCounts, read_oom_kills
from kmonitor_agent.wire.messages.study_events import FoldCause
from kmonitor_agent.wire.text import binary_size

_LEAVES_WITHIN_S: Final = 15.0
"""Maximum time for a process to exit once its function returned, seconds; its value is stored."""

_STAYED: Final = (
    f"it returned, but its process did not exit within {_LEAVES_WITHIN_S:.0f} s (a non-daemon"
    " thread?) and was terminated"
)

_STACKS_WITHIN_S: Final = 0.2
_CLOSE: Final = 0.7
"""Part of its memory bound from which memory is measured five times as often."""

_NATIVE_NO_MEMORY: Final = ("bad_alloc", "Cannot allocate memory", "MemoryError", "out of memory")


@dataclass(frozen=True, slots=True)
class AttemptBounds:
    """Bounds of an attempt.

    Attributes:
        memory_bytes: Maximum memory of all its processes together, bytes; None: bounded by the
            host only.
        time: Maximum time.
        others: Gaps between steps of the folds that finished.
        finished_s: Durations of the folds that finished, seconds.
        judges_silence: True if hangs are detected here, and not by the study that knows the other
            folds.
    """

    memory_bytes: int | None
    time: TimeBound
    others: StepGaps
    finished_s: list[float]
    judges_silence: bool = True


@dataclass(slots=True)
class _Seen:
    kill_counts: OomKillCounts
    ready: bool = False
    refused: str = ""
    returned: FunctionReturned | None = None
    returned_s: float = 0.0
    step: StepProgress | None = None
    base_bytes: int | None = None
    current_bytes: int = 0
    peak_bytes: int = 0
    stayed: bool = False
    killed_for: tuple[FoldCause, str] | None = None


class LocalAttempt:
    """An attempt; owned by the thread that runs the study.

    Attributes:
        fold: Number of the fold, from 0.
        attempt: Number of the attempt, from 1.
        device: GPU that it is pinned to; empty if none.
        resumed: True if it continues where the attempt before was killed.
        began_s: Time of its start, `time.monotonic`; 0 while the process only waits warm.
    """

    def __init__(  # noqa: PLR0913 - facts of one attempt
        self,
        fold: int,
        attempt: int,
        process: FoldProcess,
        bounds: AttemptBounds,
        *,
        device: str = "",
        cgroup: MemoryCgroup | None = None,
        resumed: bool = False,
        answers: Callable[[int, Any], Any] | None = None,
    ) -> None:
        """Monitor a process that was just started."""
        self.fold = fold
        self.attempt = attempt
        self.process = process
        self.device = device
        self.resumed = resumed
        self.began_s = 0.0
        self._on_start: Callable[[], None] | None = None
        self._started_wall_s = time.time()
        self._bounds = bounds
        self._answers = answers
        self._memory_cgroup = cgroup
        self._family = FamilyMemory(process.pid)
        self._seen = _Seen(read_oom_kills())
        self._silence_tracker = SilenceTracker(0.0, bounds.others)

    @property
    def refused(self) -> str:
        """Reason why the function cannot be loaded; empty if it was, or is still being loaded."""
        return self._seen.refused

    @property
    def is_ready(self) -> bool:
        """True if its function was loaded."""
        return self._seen.ready

    @property
    def held_bytes(self) -> int:
        """Memory of all its processes at the last measurement, bytes."""
        return self._seen.current_bytes

    @property
    def share(self) -> float | None:
        """Part of its work that is done, 0..1; None: unknown."""
        return None if self._seen.step is None else self._seen.step.share

    @property
    def peak_bytes(self) -> int:
        """Peak of `held_bytes` so far, bytes."""
        return self._seen.peak_bytes

    @property
    def steps(self) -> int:
        """Number of steps so far, over all fits."""
        return 0 if self._seen.step is None else self._seen.step.steps

    @property
    def silence(self) -> SilenceTracker:
        return self._silence_tracker

    @property
    def is_close(self) -> bool:
        """True if its memory is near its bound."""
        bound = self._bounds.memory_bytes
        return bound is not None and self._seen.current_bytes > _CLOSE * bound

    @property
    def _bound_text(self) -> str:
        return binary_size(self._bounds.memory_bytes or 0)

    @property
    def gaps(self) -> StepGaps:
        return self._silence_tracker.own

    def begin(self, now_s: float, on_start: Callable[[], None] | None = None) -> None:
        """Begin to count its time; the function starts as soon as it is loaded.

        Args:
            now_s: `time.monotonic` now.
            on_start: Called just before the function starts; None: no call.
        """
        self.began_s = now_s
        self._started_wall_s = time.time()
        self._silence_tracker = SilenceTracker(now_s, self._bounds.others)
        self._on_start = on_start
        if self._seen.ready:
            self._go()

    def _go(self) -> None:
        if self._on_start is not None:
            self._on_start()
        self.process.go()

    def elapsed_s(self, now_s: float) -> float:
        """Time since it began, seconds."""
        return now_s - self.began_s if self.began_s else 0.0

    def limit_s(self, now_s: float) -> float | None:
        """Maximum time that it may take, seconds; None: not known yet."""
        bounds = self._bounds
        return bounds.time.limit_s(
            self.elapsed_s(now_s), self.share, bounds.finished_s, self.attempt
        )

    def poll(self, now_s: float) -> bool:
        """Read messages and measure; True if its process is gone."""
        is_gone = self.process.exit_code() is not None
        for message in self.process.receive():
            self._handle_message(message, now_s)
        if is_gone:
            return True
        self._measure()
        self.process.bound_output()
        self._judge(now_s)
        return False

    def _handle_message(self, message: FoldMessage, now_s: float) -> None:
        match message:
            case FoldReady():
                self._seen.ready = True
                if self.began_s:
                    self._go()
            case FunctionNotFound(why=why):
                self._seen.refused = why
            case StepProgress():
                self._seen.step = message
                self._silence_tracker.note_progress(message)
            case FoldQuestion(question=question):
                self.process.answer(FoldAnswer(self._answered(question)))
            case FunctionReturned():
                self._seen.returned = message
                self._seen.returned_s = now_s
                self._silence_tracker.over(now_s)

    def _answered(self, question: bytes) -> bytes:
        """Answer a question, on the study's thread, which checks no bounds meanwhile."""
        if self._answers is None:
            return pack_value(("LookupError", "run_folds is not responding to its folds"))
        try:
            return pack_value(("", self._answers(self.fold, unpack_value(question))))
        except NotPlainData as exc:
            return pack_value(("TypeError", f"the reply is a {exc.kind}, not plain data"))
        except Exception as exc:  # noqa: BLE001 - whoever asked gets to know
            return pack_value((type(exc).__name__, str(exc)))

    def kill(self, cause: FoldCause, why: str) -> None:
        if self._seen.killed_for is None and self._seen.returned is None:
            self._seen.killed_for = (cause, why)
            if cause in {"hang", "timeout"}:
                self.process.show_stacks()
                time.sleep(_STACKS_WITHIN_S)
        self.process.end()

    def finish(self, now_s: float) -> Attempt:
        """Record of a process that is gone; ends processes that it left behind."""
        death = self._death()
        cause, why = self._cause(death)
        kills = 0 if self._memory_cgroup is None else self._memory_cgroup.kills()
        if kills:
            cause, why = self._cause_at_bound(cause, why, death)
        tail = self.process.tail() if death.signal == "SIGABRT" else ""
        if cause == "killed" and any(pattern in tail for pattern in _NATIVE_NO_MEMORY):
            cause = "out_of_memory"
            why = "it ran out of memory, as its output shows"
        self.process.end()
        if self._memory_cgroup is not None:
            if kills and cause == "out_of_memory":
                why += self._peak_text(self._memory_cgroup)
            self._memory_cgroup.remove_soon()
        seen = self._seen
        returned = self._seen.returned
        steps = self.steps if returned is None else returned.steps
        vram = None if seen.step is None else seen.step.vram_bytes
        return Attempt(
            fold=self.fold,
            attempt=self.attempt,
            cause=cause,
            why=why,
            signal=self._signal(cause, death),
            seconds=self.elapsed_s(now_s),
            steps=steps,
            peak_bytes=max(seen.peak_bytes, 0 if returned is None else returned.peak_bytes),
            growth_bytes=seen.current_bytes - (seen.base_bytes or seen.current_bytes),
            vram_bytes=vram if returned is None else returned.vram_bytes,
            device=self.device,
            resumed=self.resumed,
            started_wall_s=self._started_wall_s,
            private=any(each is not None and each.private for each in (seen.step, returned)),
            outcome="" if returned is None or cause != "finished" else returned.outcome,
        )

    def _peak_text(self, cgroup: MemoryCgroup) -> str:
        """Take the group's peak.

        Return a note: the kernel kills faster than memory is measured.
        """
        held = cgroup.peak_bytes()
        if held <= self._seen.peak_bytes:
            return ""
        self._seen.peak_bytes = held
        return f" (RAM peak by {cgroup.peak_name})"

    def death(self, attempt: Attempt) -> ProcessDeath:
        is_of_study = attempt.cause in {"out_of_memory", "timeout", "hang"}
        return killed_death(attempt) if is_of_study and self._seen.killed_for else self._death()

    def _signal(self, cause: FoldCause, death: ProcessDeath) -> str:
        returned = self._seen.returned
        if cause == "killed" and returned is not None and returned.how == "interrupted":
            return signal_name(signal.SIGINT)
        return death.signal if cause == "killed" else ""

    def _death(self) -> ProcessDeath:
        code = self.process.exit_code() or 0
        return diagnose_exit(
            ScriptExit(max(0, code), max(0, -code)), self._seen.kill_counts, read_oom_kills()
        )

    def _cause(self, death: ProcessDeath) -> tuple[FoldCause, str]:
        seen = self._seen
        if seen.killed_for is not None:
            return seen.killed_for
        if seen.refused:
            return "error", seen.refused
        if seen.returned is not None:
            how = seen.returned.how
            error = seen.returned.error
            if seen.stayed and not error:
                error = _STAYED
            is_alone = how == "interrupted"
            return (
                ("killed", "SIGINT, which was sent only to this process")
                if is_alone
                else (how, error)
            )
        if death.how == "memory":
            return "out_of_memory", death.why
        is_signal = death.how == "signal"
        early_exit = ("error", f"{death.why} before its function returned")
        return ("killed", death.why) if is_signal else early_exit

    def _cause_at_bound(
        self, cause: FoldCause, why: str, death: ProcessDeath
    ) -> tuple[FoldCause, str]:
        """Cause and reason where the kernel killed processes of the cgroup at its bound."""
        # A kill at the cgroup's bound is counted for the host, too.
        if cause == "killed" or (cause, why) == ("out_of_memory", death.why):
            return (
                "out_of_memory",
                f"the kernel killed it when it reached memory={self._bound_text}",
            )
        if cause == "error" and self._seen.returned is not None:
            # Its function missed a process of its own before the study saw the kill.
            return "out_of_memory", f"{self._killed_process_text()}: {why}"
        return cause, why

    def _killed_process_text(self) -> str:
        return (
            f"the kernel killed one of its processes when they reached memory={self._bound_text}"
        )

    def _measure(self) -> None:
        seen = self._seen
        if seen.returned is not None:
            return  # its exit gives back what it holds, which says nothing of its growth
        try:
            pages = read_pages(PROC / str(self.process.pid))
        except FAILURES:
            return
        if not pages.held_bytes:
            return  # killed: it holds nothing any more, which says nothing of its growth either
        children = {*self.process.processes()} - {self.process.pid}
        seen.current_bytes = pages.held_bytes + self._children_bytes(children, pages)
        alone = 0 if children else pages.peak_held_bytes
        seen.peak_bytes = max(seen.peak_bytes, seen.current_bytes, alone)
        if seen.base_bytes is None and seen.ready and self.began_s:
            seen.base_bytes = seen.current_bytes

    def _children_bytes(self, children: set[int], pages: ProcessPages) -> int:
        if not children:
            return 0
        if self._family.is_due:
            self._family.read_slowly(children)
        added = self._family.children_bytes(children, pages)
        if too_much_memory(pages.held_bytes + added, self._bounds.memory_bytes):
            # No fold is killed for an estimate.
            self._family.read_slowly(children)
            added = self._family.children_bytes(children, pages)
        return added

    def _judge(self, now_s: float) -> None:
        seen = self._seen
        bounds = self._bounds
        if seen.returned is not None:
            if now_s - seen.returned_s > _LEAVES_WITHIN_S:
                seen.stayed = True
                self.process.end()
            return
        if too_much_memory(seen.current_bytes, bounds.memory_bytes):
            self.kill("out_of_memory", f"its processes used more than memory={self._bound_text}")
        elif self._memory_cgroup is not None and self._memory_cgroup.kills():
            self.kill("out_of_memory", self._killed_process_text())
        elif self.began_s:
            self._judge_time(now_s)

    def _judge_time(self, now_s: float) -> None:
        bounds = self._bounds
        elapsed_s = self.elapsed_s(now_s)
        limit_s = self.limit_s(now_s)
        judgement = self._silence_tracker.judgement(now_s)
        if limit_s is not None and elapsed_s > limit_s:
            if bounds.time.timeout_s is None:
                self.kill(*judgement.overdue(limit_s, elapsed_s, bounds.finished_s))
            else:
                self.kill("timeout", f"it took longer than timeout_s={limit_s:g}")
        elif bounds.judges_silence and (why := judgement.hang()):
            self.kill("hang", why)


def killed_death(attempt: Attempt) -> ProcessDeath:
    """End of a process that was killed for its attempt's cause."""
    text = f"{attempt.cause.replace('_', ' ')}: {attempt.why}"
    is_memory = attempt.cause == "out_of_memory"
    return ProcessDeath("memory" if is_memory else "signal", "SIGKILL", why=text)
