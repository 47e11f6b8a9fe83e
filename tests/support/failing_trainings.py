"""Has trainings run in which calls fail, beside a hub, and judges what came of them."""

import json
import os
import subprocess
import sys
import threading
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from typing_extensions import override

from kmonitor_agent.wire.local.folders import find_folders
from kmonitor_agent.wire.local.hub_address import ingest_socket_path
from kmonitor_agent.wire.messages.unions import FromAgent, Hello
from tests.support.fake_hub import FakeHub
from tests.support.fault_sites import PACKAGE
from tests.support.source_tree import ROOT

ERRORS: Final = ("OSError", "MemoryError", "RuntimeError")

ACTIONS: Final = {
    "full": ["save", "collect", "diagnose", "reload"],
    "collect": ["collect"],
    "reload": ["reload"],
    "recreate": ["reload"],
    "leave": ["restart"],
    "take_up": ["restart"],
}
"""Actions of each training, whatever fails: each is in the records, done or with its failure."""

SUPERVISED: Final = ("leave", "take_up")
"""Trainings that look for state of an earlier process, and do not go on where it is unreadable."""

NOT_FOLLOWED: Final = {"callback.set_model", "callback.train_begin"}
"""Faults after which a fit is not followed at all: requests are not done, and counted."""


_TOGETHER: Final = (6, 3, 1)
"""Calls that fail in one training: at first, and where one was not reached or went wrong."""


@dataclass(frozen=True, slots=True)
class Case:
    """One call that fails in one training."""

    fit: str
    site: str
    nth: int
    error: str

    @override
    def __str__(self) -> str:
        return f"{self.fit}: {self.error} the {self.nth}. time at {self.site}"


@dataclass(slots=True)
class Report:
    """Outcomes of the cases of one kind."""

    injected: int = 0
    not_reached: list[str] = field(default_factory=list[str])
    wrong: list[str] = field(default_factory=list[str])


class FailingTrainings:
    """A process that trains on order, and the hub that it finds."""

    def __init__(self, home: Path) -> None:
        home.mkdir(parents=True, exist_ok=True)
        environ = {
            **os.environ,
            "KMONITOR_HOME": str(home),
            "PYTHONPATH": str(ROOT),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        self._hub = FakeHub(ingest_socket_path(find_folders(environ)))
        self._hub.answers = self._forget_at_hello
        self._is_over = threading.Event()
        self._serving = threading.Thread(
            target=self._hub.serve_until, args=(self._is_over.is_set, 1e9), name="fake-hub"
        )
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.fault_training", str(home)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environ,
            cwd=ROOT,
            text=True,
        )
        self._plain: dict[str, Any] = {}
        self._met: dict[str, dict[str, tuple[str, int]]] = {}

    def __enter__(self) -> Self:
        self._serving.start()
        self._plain = self.ordered(fit="plain")
        assert self._plain["status"] == 0, self._plain["output"]
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._is_over.set()
        self._serving.join()
        self._hub.close()
        with self._process:  # closes the pipes, at whose end it goes
            pass

    def ordered(self, **order: Any) -> dict[str, Any]:
        """Outcome of one training."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(json.dumps(order) + "\n")
        stdin.flush()
        return json.loads(stdout.readline())

    def sites(self, fit: str, kinds: Sequence[str]) -> dict[str, tuple[str, int]]:
        """Sites of these kinds that a training meets: what is called there, and how often."""
        found = self._met.setdefault(fit, {})
        for _ in range(0 if found else 2):  # two threads meet at times one more, or one less
            answer = self.ordered(fit=fit)
            assert not (wrong := self.what_is_wrong(fit, answer)), wrong
            found |= {site: (kind, times) for site, (kind, times) in answer["met"].items()}
        return {site: each for site, each in sorted(found.items()) if each[0] in kinds}

    def run(self, cases: Iterable[Case]) -> Report:
        """Carry out cases, several in one training; those of a wrong one each again alone.

        So are those that were not reached because another came first.
        """
        report = Report()
        waiting = sorted(cases, key=lambda case: zlib.crc32(str(case).encode()))
        for size in _TOGETHER:
            left: list[Case] = []
            for group in _groups(waiting, size):
                left += self._left_of(group, report)
            waiting = left
        return report

    def _left_of(self, group: Sequence[Case], report: Report) -> Sequence[Case]:
        """Carry out cases in one training; those on which nothing was found."""
        fit = group[0].fit
        faults = [[case.site, case.nth, case.error] for case in group]
        answer = self.ordered(fit=fit, faults=faults)
        wrong = self.what_is_wrong(fit, answer)
        if len(group) > 1 and (wrong or _is_excused(answer)):
            return group
        is_over = bool(answer["status"]) and len(group) == 1
        reached = [case for case in group if is_over or case.site in answer["failed"]]
        report.injected += len(reached)
        if wrong:
            report.wrong.append(f"{group[0]}: {wrong}")
        if len(group) > 1:
            return [case for case in group if case not in reached]
        report.not_reached += [str(case) for case in group if case not in reached]
        return []

    def what_is_wrong(self, fit: str, answer: dict[str, Any]) -> str:
        """Differences of a training from a plain one; empty: none."""
        if fit in SUPERVISED and answer.get("raised") == "CannotResume":
            return ""  # the fit says so: continuing might be another result
        if answer["status"]:
            return f"ended with {answer['status']}: {answer['output'][-3000:]}"
        if answer["output"] and not _is_of_others(answer["output"]):
            return f"printed {answer['output'][-3000:]}"
        if answer["result"] != self._plain["result"]:
            return "another result"
        done = [action for action, _, _ in answer["records"]]
        wanted = ACTIONS.get(fit, [])
        if done != wanted and not NOT_FOLLOWED & answer["faults"].keys():
            return f"recorded {done} instead of {wanted}, faults {answer['faults']}"
        unsaid = [action for action, ok, why in answer["records"] if not ok and not why]
        return f"no word of why {unsaid} failed" if unsaid else ""

    def _forget_at_hello(self, message: FromAgent) -> bool:
        if isinstance(message, Hello):  # of another process
            self._hub.acked = 0
            self._hub.bodies.clear()
            self._hub.got.clear()
        return True


def _groups(cases: Sequence[Case], size: int) -> Iterator[list[Case]]:
    """Cases of the same fit, at most `size` in each."""
    for fit in sorted({case.fit for case in cases}):
        of_fit = [case for case in cases if case.fit == fit]
        yield from (of_fit[at : at + size] for at in range(0, len(of_fit), size))


def _is_excused(answer: dict[str, Any]) -> bool:
    """True if one of the faults may end what the others are to be seen in."""
    return bool(answer["raised"] or NOT_FOLLOWED & answer["faults"].keys())


def _is_of_others(output: str) -> bool:
    """True if all output is of objects of other packages that could not go quietly."""
    return PACKAGE not in output and "Exception ignored in: 'h5py" in output


def is_of_shard(site: str, shard: int, shards: int) -> bool:
    """True if a site is in this part of all; the same in every process."""
    return zlib.crc32(site.encode()) % shards == shard
