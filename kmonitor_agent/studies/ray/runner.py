"""Runs a study on a Ray cluster: a task for each attempt; Ray decides where and when it begins."""

import functools
import time
from collections.abc import Callable
from typing import Any, Final

from kmonitor_agent.reclaim.restart.death import Death
from kmonitor_agent.studies.account import Account
from kmonitor_agent.studies.attempts import Attempt
from kmonitor_agent.studies.bounds import Habits
from kmonitor_agent.studies.function_source import FoldsRefused
from kmonitor_agent.studies.launch import Wanted, tell_deaths
from kmonitor_agent.studies.ray.away import Away
from kmonitor_agent.studies.ray.carrying import SpoolCarrier
from kmonitor_agent.studies.ray.cluster import RayCluster, TaskFailed, write_file
from kmonitor_agent.studies.ray.files import Unpacking
from kmonitor_agent.studies.ray.jobs import Errands
from kmonitor_agent.studies.ray.messages import Arrived, Events, Now, Over, Part, heard, packed
from kmonitor_agent.studies.ray.task import attend
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.local.supervision import Supervision

_LOOK_S: Final = 0.2
_ENDS_WITHIN_S: Final = 5.0


class RayRunner:
    """Owned by the thread that calls `run_folds`."""

    def __init__(
        self,
        wanted: Wanted,
        cluster: RayCluster,
        errands: Errands,
        account: Account,
        places: Folders,
    ) -> None:
        """Keep the parts.

        Args:
            wanted: What is to be done; of `at_once` many tasks some may wait for room.
            cluster: Where.
            errands: What each task is told.
            account: What was done.
            places: Where this host's spools lie.
        """
        self._wanted = wanted
        self._cluster = cluster
        self._errands = errands
        self._account = account
        self._folder = account.folder
        self._places = places
        self._carrier = SpoolCarrier(places.spool)
        self._attempts = account.folder.tried()
        self._away: list[Away] = []
        self._ending: list[Any] = []
        self._unpacking: dict[int, Unpacking] = {}
        self._nodes: dict[int, str] = {}
        self._runs: dict[int, dict[str, str]] = {}

    def run(self) -> None:
        """Run the folds that wait, each to its end.

        Raises:
            FoldsRefused: The function is not found, or no task can begin; no fold was begun.
            KeyboardInterrupt: Ctrl+C; everything is ended and noted.
            OSError: The ledger cannot be written; everything is ended.
        """
        account = self._account
        try:
            while account.queue or self._away:
                self._fill()
                for stream in self._cluster.ready([each.stream for each in self._away], _LOOK_S):
                    self._hear(next(each for each in self._away if each.stream is stream))
                self._ending = self._cluster.unended(self._ending)
                self._judge()
                self._carrier.step()
                begun = [each for each in self._away if each.arrived is not None]
                account.listener.move(account.done, begun, account.known.finished_s)
        except BaseException:
            self._end_all()
            raise
        finally:
            self._carrier.close()
        self._cluster.unended(self._ending, _ENDS_WITHIN_S)

    def _fill(self) -> None:
        queue = self._account.queue
        while queue and len(self._away) < self._wanted.at_once:
            self._send(queue.popleft())

    def _send(self, fold: int) -> None:
        attempt = self._attempts[fold] + 1
        keeps = self._account.has_tries_left(fold)
        errand = self._errands.of(fold, attempt, self._runs.get(fold, {}), keeps=keeps)
        name, node = f"{self._wanted.source.name} fold {fold}", self._nodes.get(fold, "")
        stream = self._cluster.send(attend, packed(errand), name, node)
        known, bound = self._account.known, self._wanted.time
        self._away.append(Away(fold, attempt, stream, known, bound))
        self._unpacking[fold] = Unpacking(self._folder, fold)

    def _hear(self, away: Away) -> None:
        try:
            data = self._cluster.next_of(away.stream)
            message = None if data is None else heard(data)
        except TaskFailed as failed:
            self._fail(away, failed)
            return
        match message:
            case Arrived():
                away.arrive(message)
            case Now():
                away.heard(message)
                self._runs[away.fold] = message.runs
            case Events():
                self._carrier.take(message)
            case Part():
                self._keep(functools.partial(self._unpacking[away.fold].take, message))
            case Over():
                self._over(away, message)
            case None:
                self._away.remove(away)

    def _over(self, away: Away, over: Over) -> None:
        """What remains of the stream is its end, which is read when it comes."""
        if over.refused and not self._has_begun():
            raise FoldsRefused(over.refused)
        self._keep(self._unpacking[away.fold].whole)
        self._leave(away)
        self._runs[away.fold] = over.runs
        self._note(away, over.attempt, over.death)
        if over.attempt.cause == "finished":
            self._account.learn(over.attempt, Habits(over.habits))

    def _keep(self, write: Callable[[], None]) -> None:
        try:
            write()
        except OSError as exc:
            self._folder.fails(exc)

    def _fail(self, away: Away, failed: TaskFailed) -> None:
        if failed.is_set_up and not self._has_begun():
            raise FoldsRefused(f"run_folds: no fold was begun: {failed.why}")
        self._leave(away)
        attempt = away.ended_by(failed.cause, failed.why)
        told = f"{attempt.cause.replace('_', ' ')}: {attempt.why}"
        is_memory = attempt.cause == "out_of_memory"
        death = Death("memory" if is_memory else "signal", "SIGKILL", why=told)
        self._note(away, attempt, death)

    def _leave(self, away: Away) -> None:
        self._away.remove(away)
        self._ending.append(away.stream)

    def _note(self, away: Away, attempt: Attempt, death: Death) -> None:
        self._attempts[away.fold] += 1
        again = self._account.is_tried_again(attempt)
        if again and away.arrived is not None and not away.arrived.has_folder:
            self._nodes[away.fold] = away.arrived.node  # what it saved is there
        self._carrier.flush()
        tell_deaths(self._places, self._runs_of(away.fold), attempt, death, again=again)
        self._account.note(attempt, again=again)

    def _runs_of(self, fold: int) -> set[str]:
        supervision = Supervision(self._folder.resume_folder(fold))
        return {*self._runs.get(fold, {}).values(), *supervision.runs().values()}

    def _has_begun(self) -> bool:
        return self._account.has_noted or any(each.is_ready for each in self._away)

    def _judge(self) -> None:
        now_s = time.monotonic()
        for each in self._away:
            verdict = each.judge(now_s)
            if verdict is not None and each.arrived is not None:
                place, node = each.arrived.verdicts, each.arrived.node
                self._cluster.write(write_file, place, packed(verdict), node)
            if each.is_overdue:
                self._cluster.cancel(each.stream)

    def _end_all(self) -> None:
        self._cluster.end([each.stream for each in self._away])
        for each in self._away:
            if each.is_ready:
                attempt = each.ended_by("interrupted", "the study was interrupted")
                death = Death("signal", "SIGKILL", why=attempt.why)
                self._carrier.flush()
                tell_deaths(self._places, self._runs_of(each.fold), attempt, death, again=False)
                self._folder.note(attempt)
        self._away.clear()
