"""Threads of ours neither draw from nor set anything that belongs to the script.

Every turn of `kmonitor-agent` runs on the test's own thread, within a real fit, while hubs come,
go, hang and refuse, disks fill up, commands and limits act. Around each turn the state of the
whole process is compared, and within it every call that draws or sets is heard.
"""

# pyright: basic
import errno
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, Final

import keras
import numpy as np
import pytest

from kmonitor_agent import MonitorCallback
from kmonitor_agent.frameworks.detection import framework_for
from kmonitor_agent.reclaim.actions import reload, save
from kmonitor_agent.reclaim.checkpoint_seal import CheckpointTag
from kmonitor_agent.reclaim.checkpoints import CheckpointStore
from kmonitor_agent.recording.runs import RUNS
from kmonitor_agent.studies.fold import Fold
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.local.hub_address import ingest_socket_path
from kmonitor_agent.wire.messages.commands import (
    Command,
    CommandName,
    LimitAction,
    LimitSpec,
    PlainArguments,
    ReloadArguments,
    SetLimits,
)
from kmonitor_agent.wire.messages.unions import Ack, ErrorMessage, Hello, Nack, Welcome
from tests.support.agent_turns import (
    AgentTurns,
    agent_by_hand,
    beside_by_hand,
    fold_by_hand,
    refusing_disk,
)
from tests.support.fake_hub import FakeHub
from tests.support.process_state import READERS
from tests.support.reloading import KERAS, arrays, dense_model
from tests.support.running_tests import LONG

_REFUSED_EVERY: Final = 500
"""Turns."""

pytestmark = [*KERAS, pytest.mark.slow, LONG]

TURNS = 600
"""At least this many of the agent's thread."""

Step = Iterator[None]
"""A part of the story that lets the training go on at each `yield`."""

SHORT: Final = ("no_hub", "found", "lost", "full_disk", "commands")
"""The chapters of `make test`; each of the others continues from `found`."""


class Story:
    """Events around the agent, one step per turn, from within a fit."""

    def __init__(
        self, turns: AgentTurns, folders: Folders, monitor: Any, patch: pytest.MonkeyPatch
    ) -> None:
        self.turns = turns
        self.folders = folders
        self.monitor = monitor
        self.patch = patch
        self.hub: FakeHub | None = None
        self.chapters: dict[str, int] = {}

    def steps(self, chosen: Collection[str]) -> Step:
        """The chosen chapters, one after the other; all where none is."""
        for chapter in (
            *(self.no_hub, self.found, self.lost, self.hung, self.refused, self.other_versions),
            *(self.bad_frames, self.forgotten, self.poisoned, self.full_disk, self.read_only_disk),
            *(self.commands, self.limits, self.asleep),
        ):
            if chosen and chapter.__name__ not in chosen:
                continue
            before = self.turns.turns
            yield from chapter()
            self.chapters[chapter.__name__] = self.turns.turns - before
        if self.hub is not None:
            self.hub.close()

    def no_hub(self) -> Step:
        for _ in range(60):
            self.turns.turn(0.3)
        yield

    def found(self) -> Step:
        hub = self._new_hub()
        self._until_live(hub)
        self.turns.turn_until(lambda: "Sample" in hub.kinds(), 0.1, hub.serve_waiting)
        yield

    def lost(self) -> Step:
        for _ in range(3):
            self._hub().close()
            self.turns.turn_until(lambda: not self.turns.is_connected, 0.2)
            for _ in range(20):
                self.turns.turn(0.2)
            self._until_live(self._new_hub())
        yield

    def hung(self) -> Step:
        hub = self._hub()
        hub.is_silent = True
        self.turns.turn_until(lambda: not self.turns.is_connected, 0.3)
        for _ in range(30):
            self.turns.turn(0.3)
        hub.is_silent = False
        self._until_live(hub)
        yield

    def refused(self) -> Step:
        for refusal in (
            ErrorMessage(code="busy", text="not now", retry_ms=500),
            ErrorMessage(code="quota", text="too much", retry_ms=500),
            ErrorMessage(code="unauthorized", text="no", fatal=True),
        ):
            hub = self._hub()

            def refuse(hub: FakeHub = hub, refusal: ErrorMessage = refusal) -> None:
                hub.serve_waiting()
                # An agent that has just reconnected never hears what was sent before.
                if self.turns.turns % _REFUSED_EVERY == 0:
                    hub.send(refusal)

            hub.send(refusal)
            self.turns.turn_until(lambda: not self.turns.is_connected, beside=refuse)
            for _ in range(10):
                self.turns.turn(1.0)
            self._until_live(hub, 1.0)
        yield

    def other_versions(self) -> Step:
        hub = self._hub()
        hub.answers = lambda message: not isinstance(message, Hello)
        hub.is_silent = True
        self.turns.turn_until(lambda: not self.turns.is_connected, 0.3)
        hub.is_silent = False
        seen = hub.count(Hello)
        self.turns.turn_until(lambda: hub.count(Hello) > seen, 0.3, hub.serve_waiting)
        hello = [each for each in hub.got if isinstance(each, Hello)][-1]
        hub.send(
            Welcome(
                hello.run,
                "hub1",
                hello.session,
                minor_version=99,
                acked=0,
                ping_ms=100,
                max_batch=8,
            )
        )
        for _ in range(10):
            self.turns.turn(0.3, hub.serve_waiting)
        hub.answers = lambda _: True
        self._until_live(hub, 1.0)
        yield

    def bad_frames(self) -> Step:
        hub = self._hub()
        for number in range(150):
            hub.send_frames([b"KM1", bytes([number]) * number])
        self.turns.turn_until(lambda: not self.turns.is_connected, beside=hub.serve_waiting)
        self._until_live(hub, 0.5)
        yield

    def forgotten(self) -> Step:
        hub = self._hub()
        hub.send(Ack(run=self.monitor.run_id, acked=10**9))  # of what was never sent
        self.turns.turn_until(lambda: not self.turns.is_connected, beside=hub.serve_waiting)
        hub.acked = 0
        hub.bodies.clear()
        self._until_live(hub, 1.0)
        self.turns.turn_until(lambda: hub.acked > 1, beside=hub.serve_waiting)
        yield

    def poisoned(self) -> Step:
        hub = self._hub()
        refused = hub.acked + 1
        hub.refuses = lambda _: hub.acked < refused
        self.turns.turn_until(lambda: hub.count(Nack) >= 0 and hub.acked >= refused - 1, 0.2)
        for _ in range(30):
            self.turns.turn(0.2, hub.serve_waiting)
        hub.refuses = lambda _: False
        self._until_live(hub, 0.2)
        yield

    def full_disk(self) -> Step:
        yield from self._refused_by_disk(errno.ENOSPC)

    def read_only_disk(self) -> Step:
        yield from self._refused_by_disk(errno.EROFS)

    def _refused_by_disk(self, number: int) -> Step:
        hub = self._hub()
        with refusing_disk(self.folders.spool, number, self.patch):
            self.turns.turn_until(lambda: self.turns.degraded, 0.2, hub.serve_waiting)
            for _ in range(20):
                self.turns.turn(0.5, hub.serve_waiting)
        self.turns.turn_until(lambda: not self.turns.degraded, 0.5, hub.serve_waiting)
        yield

    def commands(self) -> Step:
        asked: list[tuple[CommandName, Any]] = [
            ("save", PlainArguments("batch")),
            ("collect", PlainArguments("epoch")),
            ("reload", ReloadArguments("batch")),
            ("reload", ReloadArguments("epoch", "recreate")),
            ("auto", ReloadArguments("epoch")),
            ("diagnose", PlainArguments("epoch")),
        ]
        for action, args in asked:
            before = len(self.monitor.records)
            self._command(action, args)
            while len(self.monitor.records) == before:
                self.turns.turn(0.05, self._hub().serve_waiting)
                yield
        self._command("resume", PlainArguments())
        self._command("restart", PlainArguments())
        for _ in range(10):
            self.turns.turn(0.05, self._hub().serve_waiting)
            yield

    def limits(self) -> Step:
        actions: list[LimitAction] = ["notify", "save", "collect", "reload"]
        for action in actions:
            before = len(self.monitor.records)
            spec = LimitSpec("ram", value=1.0, action=action)
            self._command("set_limits", SetLimits(["ram"], [spec]))
            for _ in range(4):
                self.turns.turn(1.0, self._hub().serve_waiting)
            while action != "notify" and len(self.monitor.records) == before:
                self.turns.turn(1.0, self._hub().serve_waiting)
                yield
        self._command("set_limits", SetLimits(["ram"], []))
        yield

    def asleep(self) -> Step:
        for _ in range(40):
            self.turns.turn(120.0, self._hub().serve_waiting)
        self._until_live(self._hub(), 0.3)
        yield

    def _command(self, name: CommandName, args: Any) -> None:
        hub = self._hub()
        self._until_live(hub)
        hello = next(each for each in reversed(hub.got) if isinstance(each, Hello))
        number = f"{name}-{self.turns.turns}"
        hub.send(Command(number, hello.run, hello.session, name, args, requested_by="ada"))
        for _ in range(5):
            self.turns.turn(beside=hub.serve_waiting)

    def _new_hub(self) -> FakeHub:
        acked = 0 if self.hub is None else self.hub.acked
        bodies = {} if self.hub is None else self.hub.bodies
        self.hub = FakeHub(ingest_socket_path(self.folders), acked=acked)
        self.hub.bodies = bodies
        return self.hub

    def _hub(self) -> FakeHub:
        assert self.hub is not None
        return self.hub

    def _until_live(self, hub: FakeHub, seconds: float = 0.1) -> None:
        self.turns.turn_until(lambda: self.turns.is_connected, seconds, hub.serve_waiting)


class _Tells(keras.callbacks.Callback):
    """Continues a story after each batch, and ends the fit with it."""

    model: Any

    def __init__(self, story: Story, chosen: Collection[str]) -> None:
        super().__init__()
        self._steps = story.steps(chosen)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        if next(self._steps, self) is self:
            self.model.stop_training = True


@pytest.mark.promise(20)
@pytest.mark.parametrize(
    ("chosen", "chapters", "at_least"),
    [
        pytest.param(SHORT, len(SHORT), TURNS // 3, id="short"),
        pytest.param((), 14, TURNS, id="all", marks=pytest.mark.full),
    ],
)
def test_no_turn_of_the_agents_thread_touches_what_is_the_scripts(
    folders: Folders,
    monkeypatch: pytest.MonkeyPatch,
    chosen: Collection[str],
    chapters: int,
    at_least: int,
):
    np.random.seed(3)
    keras.utils.set_random_seed(3)
    monitor = MonitorCallback("story")
    with agent_by_hand(monkeypatch) as turns:
        story = Story(turns, folders, monitor, monkeypatch)
        callbacks = [monitor, _Tells(story, chosen)]
        dense_model().fit(**arrays(), epochs=2000, verbose=0, callbacks=callbacks)
        RUNS.close()

    turns.assert_nothing_touched()
    assert turns.turns >= at_least
    assert len(story.chapters) == chapters
    assert len(READERS) > 60


@pytest.mark.promise(20)
def test_no_turn_of_a_folds_thread_touches_what_is_the_scripts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    keras.utils.set_random_seed(3)
    monitor = MonitorCallback("fold", hub="off")
    fold = Fold(0, tmp_path)
    turns = AgentTurns()

    class _Turns(keras.callbacks.Callback):
        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            for _ in range(10):
                turn()
            fold.step(of=99)

    with fold_by_hand(fold, turns) as turn:
        turn()
        for _ in range(2):
            callbacks = [monitor, _Turns()]
            dense_model().fit(**arrays(), epochs=6, verbose=0, callbacks=callbacks)
            turn()
    RUNS.close()

    turns.assert_nothing_touched()
    assert turns.turns >= TURNS


@pytest.mark.promise(20)
@pytest.mark.parametrize("at_least", [TURNS // 3, pytest.param(TURNS, marks=pytest.mark.full)])
def test_no_work_beside_a_save_or_reload_touches_what_is_the_scripts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_least: int
):
    keras.utils.set_random_seed(3)
    model = dense_model()
    model.fit(**arrays(), epochs=1, verbose=0)
    model.add(keras.layers.Dense(70_000))  # large enough for checksums in slices
    model.compile("sgd", "mse")
    framework, store = framework_for(model), CheckpointStore(tmp_path / "kept")
    turns = AgentTurns()

    with beside_by_hand(turns, monkeypatch):
        for mode in ("assign", "recreate"):
            done = reload(framework, model, store, tag=CheckpointTag("run", 1, 0), mode=mode)
            assert done.ok, done.why
        while turns.turns < at_least:
            done = save(framework, model, store, tag=CheckpointTag("run", 1, 0))
            assert done.ok, done.why

    turns.assert_nothing_touched()
