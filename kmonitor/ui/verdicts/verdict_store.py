"""The newest verdict of each metric of each run, as the window knows it."""

from collections.abc import Collection

from kmonitor.ui.runs.sent_commands import SendRequest
from kmonitor_agent.wire.messages.commands import LimitMetric
from kmonitor_agent.wire.messages.events import AnyEvent, EpochEnded, FitEnded, Verdict
from kmonitor_agent.wire.messages.unions import VerdictsReply, VerdictsRequest


class VerdictStore:
    """Takes what is streamed, and asks for the selected run's verdicts; main thread only."""

    def __init__(self, request: SendRequest) -> None:
        self._send_request = request
        self._runs: dict[str, dict[str, Verdict]] = {}
        self._watched_run = ""
        self._open: dict[int, str] = {}
        self._is_stale = False

    def get(self, run: str, metric: LimitMetric) -> Verdict | None:
        """What is known of a metric; None: nothing yet."""
        return self._runs.get(run, {}).get(metric)

    def of_run(self, run: str) -> list[Verdict]:
        """All that is known of a run."""
        return list(self._runs.get(run, {}).values())

    def want(self, run: str) -> None:
        """Keep this run's verdicts up to date from now on, and no other's."""
        if run != self._watched_run:
            self._watched_run = run
            self._request_now()

    def apply_event(self, run: str, event: AnyEvent, *, is_live: bool) -> bool:
        """Take an event of any run; whether a verdict is now another one.

        Args:
            event: A verdict, or what makes the newest ones old.
            is_live: False: it comes from history.
        """
        if isinstance(event, Verdict):
            return self._store(run, event)
        if is_live and run == self._watched_run and isinstance(event, EpochEnded | FitEnded):
            self._request_now()
        return False

    def apply_reply(self, reply: VerdictsReply) -> bool:
        """Take an answer; whether a verdict is now another one."""
        if self._open.pop(reply.request_id, None) is not None and self._is_stale:
            self._request_now()
        changed = [self._store(reply.run, verdict) for verdict in reply.verdicts]
        return any(changed)

    def refuse(self, request_number: int) -> None:
        """A request was refused: it is sent again when an epoch ends."""
        self._open.pop(request_number, None)

    def forget(self, runs: Collection[str]) -> None:
        """Drop all that is held of these runs."""
        for run in runs:
            self._runs.pop(run, None)
        self._open = {
            request_number: run for request_number, run in self._open.items() if run not in runs
        }
        if self._watched_run in runs:
            self._watched_run = ""

    def _request_now(self) -> None:
        # One request at a time: epochs may be shorter than a hub's reply takes.
        self._is_stale = self._watched_run in self._open.values()
        if self._watched_run and not self._is_stale:
            request = VerdictsRequest(request_id=0, run=self._watched_run)
            self._open[self._send_request(request)] = self._watched_run

    def _store(self, run: str, verdict: Verdict) -> bool:
        known = self._runs.setdefault(run, {})
        before = known.get(verdict.metric)
        # Pages of history may come after what is newer.
        if before is not None and (before.per, before.unit) == (verdict.per, verdict.unit):
            is_newer = before != verdict and not verdict.turned
        else:
            is_newer = before is None or before.to_s <= verdict.to_s
        if is_newer:
            known[verdict.metric] = verdict
        return is_newer
