import json
import sys

import pytest
from rich.cells import cell_len

from kmonitor.cli.terminal import PIPE_WIDTH, plain, say_table, show_waiting
from kmonitor.export.plain_data import fields_of, json_text
from kmonitor_agent.protocol.facts import EpochEnded, StepTimes


def test_control_characters_do_not_reach_the_terminal():
    shown = plain("a\x1b[31m\nb\x07")

    assert shown.replace("\N{REPLACEMENT CHARACTER}", "?") == "a?[31m?b?"


def test_what_is_waited_for_is_shown_on_a_terminal_only(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    show_waiting("in a pipe")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    show_waiting("still working")
    show_waiting("")

    assert capsys.readouterr().err == "\rstill working\x1b[K\r\x1b[K"


def test_letters_of_any_script_do():
    assert plain("训练 naïve 🙂") == "训练 naïve 🙂"


def test_a_wire_struct_keeps_fields_at_their_default():
    times = StepTimes(count=1, mean_s=1.0, p50_s=1.0, p95_s=1.0, p99_s=1.0, max_s=1.0)
    event = EpochEnded(t_s=1.0, fit=1, epoch=0, seconds=2.0, step_times=times)

    fields = fields_of(event)

    assert fields["logs"] == {}
    assert fields["learning_rate"] is None
    assert fields["step_times"]["first_s"] is None


def test_json_has_null_where_json_has_no_number():
    text = json_text({"loss": float("nan"), "peak": float("inf")})

    assert json.loads(text) == {"loss": None, "peak": None}


@pytest.mark.parametrize("name", ["x" * 100 + "y" * 100, "训" * 100])
def test_a_long_cell_loses_its_middle_and_the_line_stays_one(
    name: str, capsys: pytest.CaptureFixture[str]
):
    say_table(
        ("ID", "NAME", "STATE"), [("1", name, "training"), ("2", "b", "idle")], elided="NAME"
    )

    lines = capsys.readouterr().out.splitlines()

    assert len(lines) == 3
    assert all(cell_len(line) <= PIPE_WIDTH for line in lines)
    assert lines[1].endswith("training")
    assert f"{name[0] * 40}" in lines[1]
    assert f"\N{HORIZONTAL ELLIPSIS}{name[-1] * 40}" in lines[1]


def test_a_table_in_a_pipe_is_not_cut_and_takes_names_literally(
    capsys: pytest.CaptureFixture[str],
):
    name = "[bold]" + "x" * 100

    say_table(("NAME", "N"), [(name, "1")], right=("N",))

    assert name in capsys.readouterr().out
