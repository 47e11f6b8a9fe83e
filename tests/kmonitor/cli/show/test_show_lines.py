"""All of `kmonitor show` in a terminal: no line is longer than the terminal is wide."""

import re
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from msgspec.structs import replace
from rich.cells import cell_len

from kmonitor.cli.common import hub_access
from kmonitor.cli.show.command import show
from kmonitor.export.events import decode_row
from kmonitor.hub.judge.run_judge import RunJudge
from kmonitor_agent.wire.messages.events import (
    CallbackTime,
    EpochEnded,
    EpochParts,
    EpochStarted,
    Event,
    FieldSource,
    FieldSources,
    FitEnded,
    FitStarted,
    ModelFacts,
    Sample,
    SessionEnded,
    SessionStarted,
    StepTimes,
    Verdict,
)
from kmonitor_agent.wire.messages.unions import (
    EventRow,
    RunSummary,
    SeriesReply,
    SeriesRequest,
    VerdictsReply,
)
from tests.support.made_up_runs import MIB, made_up_row, made_up_run, told_series
from tests.support.made_up_studies import RUNNING, STUDY, MadeUpStudy

Parts = Callable[[int], dict[str, Any]]

WHY_NO_INPUT = "tf.data reports its times only with autotuning, which is off for this dataset"


class _Hub:
    """Client of a hub with one run, or with a study and its folds."""

    def __init__(
        self, runs: Sequence[RunSummary], rows: list[EventRow], verdicts: list[Verdict]
    ) -> None:
        self._runs, self._rows, self._verdicts = list(runs), rows, verdicts

    def runs(self) -> list[RunSummary]:
        return self._runs

    def all_rows(self, run: str, kinds: Sequence[str]) -> Iterator[EventRow]:
        del run
        return (row for row in self._rows if _kind(row) in kinds)

    def series(
        self, run: str, columns: Sequence[str], *, from_s: float, buckets: int
    ) -> SeriesReply:
        asked = SeriesRequest(
            request_id=1, run=run, columns=list(columns), from_s=from_s, buckets=buckets
        )
        return told_series(asked, self._runs[0], 1)

    def verdicts_so_far(self, run: str) -> VerdictsReply:
        return VerdictsReply(request_id=1, run=run, verdicts=self._verdicts)


def _kind(row: EventRow) -> str:
    event = decode_row(row)
    assert event is not None
    return str(event.__struct_config__.tag)


def trained(parts_of: Parts, *, epochs: int = 28, is_loop: bool = False) -> _Hub:
    """A hub that judged a run; in a loop each epoch has a fit of its own."""
    judge = RunJudge()
    rows: list[EventRow] = []
    for event in _events(parts_of, epochs, is_loop=is_loop):
        rows.append(made_up_row(len(rows) + 1, event))
        judge.read(event.t_s, event)
        rows += [made_up_row(len(rows) + 1, each) for each in judge.judge()]
    return _Hub([made_up_run(state="finished")], rows, judge.newest_verdicts())


def _events(parts_of: Parts, epochs: int, *, is_loop: bool) -> Iterator[Event]:
    yield SessionStarted(
        t_s=0.0, session="s", name="run", host="gpu-01", pid=1, started_wall_s=1.0
    )
    yield FieldSources(t_s=0.0, sources=[FieldSource("parts.input_s", "s", absent=WHY_NO_INPUT)])
    t_s = 0.0
    for number in range(epochs):
        fit = number + 1 if is_loop else 1
        if is_loop or not number:
            yield FitStarted(
                t_s=t_s,
                fit=fit,
                model="sequential",
                epochs=number + 1 if is_loop else epochs,
                steps=100,
                initial_epoch=number,
                batch_size=64,
            )
            yield ModelFacts(
                t_s=t_s,
                fit=fit,
                part=1,
                part_count=1,
                name="sequential",
                kind="Sequential",
                n_layers=3,
                parameters=82_689,
            )
        yield EpochStarted(t_s=t_s, fit=fit, epoch=number)
        ended = _epoch_ended(t_s, fit, number, parts_of(number))
        t_s = ended.t_s
        yield Sample(t_s=t_s, fit=fit, epoch=number, ram_bytes=(500 + 2 * number) * MIB)
        yield ended
        if is_loop or number == epochs - 1:
            yield FitEnded(t_s=t_s, fit=fit, how="finished", epochs_done=1 if is_loop else epochs)
    yield SessionEnded(t_s=t_s, why="finished")


def _epoch_ended(t_s: float, fit: int, number: int, parts: dict[str, Any]) -> EpochEnded:
    spent = {"input_s": 0.1, "compute_s": 0.4 + 0.001 * (number % 3), **parts}
    callbacks = spent.pop("callbacks", [])
    wall_s = sum(seconds or 0.0 for seconds in spent.values())
    p50_s = 0.002
    return EpochEnded(
        t_s=t_s + wall_s,
        fit=fit,
        epoch=number,
        seconds=wall_s,
        steps=100,
        logs={"loss": 0.5},
        step_times=StepTimes(98, 0.004, p50_s, p50_s, 0.02, 0.03, slow=3, slow_sum_s=0.2),
        ram_process_bytes=(500 + 2 * number) * MIB,
        parts=EpochParts(wall_s=wall_s, callbacks=callbacks, **spent),
    )


def between_fits_grows() -> _Hub:
    return trained(lambda number: {"between_fits_s": 0.1 + 0.2 * number}, epochs=26, is_loop=True)


def compiling_storm() -> _Hub:
    return trained(lambda number: {"compiling_s": 2.0 if 9 <= number < 14 else 0.0})


def unknown_wait() -> _Hub:
    def parts(number: int) -> dict[str, Any]:
        seconds = 0.1 if number < 14 else 3.0
        name = "CallbackWithQuiteALongNameThatSavesAPictureOfEachLayer"
        callbacks = [CallbackTime(name, seconds)]
        return {"input_s": None, "callbacks_s": seconds, "callbacks": callbacks}

    return trained(parts)


def resources_that_grow() -> _Hub:
    files = Verdict(
        t_s=1.0,
        metric="open_files",
        state="growing",
        per="epoch",
        units=28,
        unit=28,
        window=20,
        slope=9.0,
        slope_low=8.0,
        slope_high=9.5,
        cause="files",
        name="/srv/files/a-file-with-a-name/that-is-longer-than-most-of-them",
        advice=["close_files"],
        turned=True,
    )
    verdicts = [files, replace(files, metric="shared_memory", cause="blocks")]
    rows = [made_up_row(n, each) for n, each in enumerate(verdicts, 1)]
    why = "ValueError: the error of a training run, which says quite a lot about it; " * 4
    return _Hub([made_up_run(state="failed", state_why=why)], rows, verdicts)


def study() -> _Hub:
    found = MadeUpStudy(RUNNING)
    rows = [made_up_row(at, event, STUDY) for at, event in enumerate(found.events(), start=1)]
    return _Hub(found.runs(), rows, [])


def shown(
    hub: _Hub, columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> list[str]:
    """Lines of `kmonitor show` in a terminal of this width."""

    @contextmanager
    def opened(*_: object, **__: object) -> Generator[_Hub]:
        yield hub

    monkeypatch.setattr(hub_access, "open_hub", opened)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(columns))
    assert show(hub.runs()[0].run) == 0
    return re.sub(r"\x1b\[[\d;]*m", "", capsys.readouterr().out).splitlines()


@pytest.mark.parametrize("columns", [60, 80, 120])
@pytest.mark.parametrize(
    "made", [between_fits_grows, compiling_storm, unknown_wait, resources_that_grow, study]
)
def test_no_line_is_longer_than_the_terminal_is_wide(
    made: Callable[[], _Hub],
    columns: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    lines = shown(made(), columns, monkeypatch, capsys)

    assert [line for line in lines if cell_len(line) > columns] == []
    assert len(lines) > 20


def test_loop_of_fits_is_judged_listed_and_averaged_by_fits(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    lines = shown(between_fits_grows(), 80, monkeypatch, capsys)

    text = "\n".join(lines)
    heads = r"WHERE THE TIME GOES +FITS \d+ TO \d+ +FITS 22 TO 26 +PART +WHOLE RUN"
    assert re.search(heads, text)
    assert re.search(r"! Epoch time after fit \d+: slowing down: ", text)
    assert re.search(r"Fits 2 to \d+: sequential, each 1 epoch of 100 steps, batch size 64;", text)
    assert text.count("Model sequential: ") == 1
