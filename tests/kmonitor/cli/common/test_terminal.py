import json
import re
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from kmonitor.base.plain_data import fields_of, json_text
from kmonitor.cli.common.terminal import (
    PIPE_WIDTH,
    print_stderr,
    print_table,
    print_text,
    show_waiting,
    terminal_safe,
)
from kmonitor_agent.wire.messages.events import EpochEnded, StepTimes


def test_control_characters_do_not_reach_the_terminal():
    shown = terminal_safe("a\x1b[31m\nb\x07")

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
    assert terminal_safe("训练 naïve 🙂") == "训练 naïve 🙂"


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
    print_table(
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

    print_table(("NAME", "N"), [(name, "1")], right=("N",))

    assert name in capsys.readouterr().out


NUMBERS = st.integers(0, 10**9).map(lambda n: f"{n} MiB")
TEXTS = st.text("abc 训xyz-", max_size=60)


@given(data=st.data(), width=st.integers(20, 200))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_number_that_is_printed_is_whole_at_any_width(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    data: st.DataObject,
    width: int,
):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", str(width))
    n_numbers, n_rows = data.draw(st.integers(1, 8)), data.draw(st.integers(1, 3))
    headers = ["NAME", "WHY", *(f"N{n}" for n in range(n_numbers))]
    rows = [
        [data.draw(TEXTS), data.draw(TEXTS), *(data.draw(NUMBERS) for _ in range(n_numbers))]
        for _ in range(n_rows)
    ]

    print_table(headers, rows, right=headers[2:], folds=("WHY",), elided="NAME")

    out = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
    table, _, left_out = out.partition("Not shown at ")
    lines = table.splitlines()
    left_out = " ".join(f"Not shown at {left_out}".split())
    hidden = left_out.removeprefix(f"Not shown at {width} columns: ").rstrip(".").split(", ")
    assert all(cell_len(line) <= width for line in lines)
    for place, header in enumerate(headers[2:], 2):
        if header not in hidden:
            assert all(row[place] in out for row in rows)


@pytest.mark.parametrize("width", [40, 60, 80])
def test_the_list_of_runs_has_whole_numbers_on_a_narrow_terminal(
    width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", str(width))

    print_table(
        ("RUN", "NAME", "EPOCH", "GRAPH", "RAM"),
        [("1a2b3c4d", "a training with a long name", "3 of 3", "35 107", "12.4 GiB")],
        right=("EPOCH", "GRAPH", "RAM"),
        elided="NAME",
        drops=("RAM",),
    )

    out = capsys.readouterr().out
    assert "3 of 3" in out
    assert "35 107" in out
    assert ("12.4 GiB" in out) == (width > 40)
    assert ("Not shown at 40 columns: RAM." in out) == (width == 40)


def test_no_line_acts_on_a_terminal(capsys: pytest.CaptureFixture[str]):
    hostile = "\x1b]0;title\x07\x1b[2J\r\x9b31m\u202e"

    print_text(f"a\n{hostile}")
    print_stderr(hostile)
    print_table((hostile, "N"), [(hostile, hostile)], right=("N",), folds=(hostile,))

    shown = "".join(capsys.readouterr())
    assert all(letter.isprintable() or letter == "\n" for letter in shown)
