"""Has trainings run in which one call fails, beside a hub, and judges what came of them."""

import json
import os
import subprocess
import sys
import threading
import zlib
from collections.abc import Iterator, Sequence
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

    def run(self, cases: Iterator[Case]) -> Report:
        """Carry out cases one by one."""
        report = Report()
        for case in cases:
            answer = self.ordered(fit=case.fit, site=case.site, nth=case.nth, error=case.error)
            if answer["has_failed"] or answer["status"]:
                report.injected += 1
            else:
                report.not_reached.append(str(case))
            wrong = self.what_is_wrong(case.fit, answer)
            if wrong:
                report.wrong.append(f"{case}: {wrong}")
        return report

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


def _is_of_others(output: str) -> bool:
    """True if all output is of objects of other packages that could not go quietly."""
    return PACKAGE not in output and "Exception ignored in: 'h5py" in output


def is_of_shard(site: str, shard: int, shards: int) -> bool:
    """True if a site is in this part of all; the same in every process."""
    return zlib.crc32(site.encode()) % shards == shard
