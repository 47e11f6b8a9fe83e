"""`kmonitor map run:...`, where the run's model leaves its length open too, and its lines."""

import json
import re
from collections.abc import Iterator

import pytest

from kmonitor.base.errors import UserError
from kmonitor.cli import map as map_command
from kmonitor.cli.common.terminal import UsageError
from kmonitor.cli.main import main
from kmonitor.cli.map import TrainingOptions, print_map
from kmonitor.memory.calibration import FitMemory, PeakMeasurement, measurements_of
from kmonitor.memory.estimate import Plan, estimate
from tests.support.made_up_layouts import chain, layer, tensor, two_dense, variable

RUN = "run:tokens"


def tells(monkeypatch: pytest.MonkeyPatch, then: str = "Dropout") -> None:
    """One run of a model on sequences of any length, of which five steps were measured."""
    told = chain(
        [layer("embed", "Embedding", 0), layer("then", then)],
        [tensor(None, dtype="int32"), tensor(None, 8), tensor(None, 8)],
        [variable("embed/embeddings", 100, 8)],
    )
    measured = PeakMeasurement(16, 2**30, steps=5, between_bytes=2**20, device="CPU")
    fit = FitMemory(1, told, 16, measured, "CPU")
    monkeypatch.setattr(map_command, "run_memory", lambda _: (fit, measurements_of([fit])))


def test_a_length_that_is_said_gives_the_map(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    tells(monkeypatch)

    map_command.memory_map(RUN, training=TrainingOptions(sequence=40), as_json=True)

    told = json.loads(capsys.readouterr().out)
    assert (told["tier"], told["batch"]) == (3, 16)
    assert told["peak_bytes"] > 16 * 40 * 8 * 4


def test_parts_of_a_line_are_its_whole(capsys: pytest.CaptureFixture[str]):
    found = estimate(two_dense(), Plan(4096))

    print_map(two_dense(), found)

    [line] = [each for each in capsys.readouterr().out.splitlines() if "transient" in each]
    whole, *parts = [float(each) for each in re.findall(r"([\d.]+) MiB", line)]
    assert sum(parts) == pytest.approx(whole, abs=0.5)


def test_a_terminal_shows_what_goes_on_and_how_to_end_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    tells(monkeypatch)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)

    map_command.memory_map(RUN, training=TrainingOptions(sequence=40), limit="1GiB")

    shown = capsys.readouterr().err.split("\r")
    assert shown[1].startswith(
        "evaluating other batch sizes and changes: 0 s (press Ctrl+C to cancel)"
    )
    assert shown[-1] == "\x1b[K"


def test_the_name_of_a_run_alone_is_answered_with_how_to_ask():
    with pytest.raises(UserError, match="not found: cnn-of-monday") as caught:
        map_command.memory_map("cnn-of-monday")

    assert "run:cnn-of-monday" in caught.value.remedy


def test_without_a_length_it_is_asked_for(monkeypatch: pytest.MonkeyPatch):
    tells(monkeypatch)

    with pytest.raises(UserError, match="accepts variable-length input") as caught:
        map_command.memory_map(RUN)

    assert "--sequence 128" in caught.value.remedy


def test_a_layer_that_may_change_the_length_is_refused(monkeypatch: pytest.MonkeyPatch):
    tells(monkeypatch, then="Conv1D")

    with pytest.raises(UserError, match="may change the sequence length") as caught:
        map_command.memory_map(RUN, training=TrainingOptions(sequence=40))

    assert "script" in caught.value.remedy


@pytest.mark.parametrize(
    ("training", "words"),
    [
        (TrainingOptions(input_shape=["40"]), "--input-shape works only"),
        (
            TrainingOptions(sequence=40, measured=["32"]),
            "--measured 32: use a batch size and its peak",
        ),
    ],
)
def test_what_cannot_be_meant_is_said(
    monkeypatch: pytest.MonkeyPatch, training: TrainingOptions, words: str
):
    tells(monkeypatch)

    with pytest.raises(UsageError) as caught:
        map_command.memory_map(RUN, training=training)

    assert words in str(caught.value)


def test_ctrl_c_while_other_batches_are_worked_out_ends_quietly(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    tells(monkeypatch)

    def interrupted(*_: object) -> Iterator[None]:
        yield
        raise KeyboardInterrupt

    monkeypatch.setattr(map_command, "completing", interrupted)

    with pytest.raises(SystemExit) as ended:
        main(["map", RUN, "--sequence", "40", "--limit", "1GiB"])

    assert ended.value.code == 130
    assert capsys.readouterr() == ("", "")
