"""`runs`, `show` and `export` as processes, on a real hub."""

import csv
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kmonitor.connect.local_hub import stop_hub
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.messages.events import (
    AllocationGrowth,
    Diagnosis,
    FitStarted,
    Sample,
    SessionDied,
    SessionEnded,
)
from tests.support.command_line import MODULE, kmonitor, start_kmonitor
from tests.support.growing_run import Growing, events_of
from tests.support.live_hub import LiveHub
from tests.support.simulated_agent import SimulatedAgent
from tests.support.waiting import DEADLINE_S

pytestmark = pytest.mark.slow


@pytest.fixture
def told(live_hub: LiveHub) -> Iterator[SimulatedAgent]:
    """A run with two epochs, stored, and its process still there."""
    with SimulatedAgent(live_hub.folders, name="resnet [red]fold[/] \x1b[2J") as agent:
        agent.start_fit(epochs=3)
        agent.train_epochs(2)
        agent.wait_acked()
        yield agent


@pytest.fixture
def own_hub(folders: Folders) -> Iterator[Folders]:
    """Nothing runs; a hub that the command line starts is stopped."""
    yield folders
    stop_hub(folders)


def test_runs_starts_a_hub_and_says_how_a_first_run_comes_about(own_hub: Folders):
    ran = kmonitor("runs")

    assert ran.status == 0
    assert "MonitorCallback()" in ran.out
    assert kmonitor("hub", "status").status == 0


def test_runs_as_json_has_the_agreed_fields(told: SimulatedAgent):
    (run,) = kmonitor("runs", "--json").json

    assert run["run"] == told.run
    assert run["name"] == told.name
    assert run["host"] == told.host
    assert run["state"] == "training"
    assert run["epoch"] in {1, 2}
    assert run["graph"]["value"] == 24_374


def test_runs_since_lists_those_with_an_event_in_that_time(told: SimulatedAgent):
    assert [run["run"] for run in kmonitor("runs", "--since", "1h", "--json").json] == [told.run]
    assert "No run matches" in kmonitor("runs", "--since", "0").out


def test_runs_in_words_keeps_the_terminal_as_it_is(told: SimulatedAgent):
    ran = kmonitor("runs")

    assert told.run[:8] in ran.out
    assert "resnet [red]fold[/]" in ran.out
    assert "\x1b" not in ran.out


def test_show_tells_state_metrics_epochs_and_events(told: SimulatedAgent):
    ran = kmonitor("show", told.run[:6])

    assert ran.status == 0, ran.err
    for words in ("training", "500 MiB", "24 374", "loss", "Fit 1 started: net"):
        assert words in ran.out
    assert "tensorflow allocator, CPU:0 in use" in ran.out
    assert "\x1b" not in ran.out


def test_a_training_that_makes_no_step_is_told_with_what_to_do(live_hub: LiveHub):
    with SimulatedAgent(live_hub.folders, name="hanging") as agent:
        agent.emit(FitStarted(t_s=0.0, fit=1, model="net", epochs=3, steps=100))
        for second in range(1, 55):
            agent.emit(Sample(t_s=float(second), fit=1, step=min(second, 30)))
        agent.wait_acked()

        listed, shown = kmonitor("runs"), kmonitor("show", "last")
        (as_json,) = kmonitor("runs", "--json").json

    words = "no step for 24 s within an epoch; the longest pause before that was 1 s"
    assert "training, no step for " in " ".join(listed.out.split())
    assert f"State        training ({words})" in shown.out
    assert "Advice       `py-spy dump --pid" in shown.out
    assert "No step for 21 s within an epoch" in shown.out
    assert "Model        net\n" in shown.out  # it reports no optimizer
    assert as_json["state_why"] == words
    assert as_json["stalled_wall_s"] > 0.0


def test_show_tells_one_truth_of_a_process_that_could_not_know_its_exit_status(
    told: SimulatedAgent,
):
    told.emit(SessionEnded(t_s=told.now_s(), why="finished"))
    told.emit(
        SessionDied(
            t_s=told.now_s(),
            session=told.session,
            how="status",
            status=3,
            why="it exited with status 3",
        )
    )
    told.wait_acked()

    shown = kmonitor("show", "last")

    assert "Process ended with exit status 3" in shown.out
    assert "Process finished" not in shown.out


def test_the_allocator_of_the_cpu_is_not_called_vram(told: SimulatedAgent):
    listed, shown = kmonitor("runs"), kmonitor("show", "last")

    assert "100 MiB (CPU)" in listed.out
    row = next(line for line in shown.out.splitlines() if line.startswith("Allocator (CPU)"))
    assert "tensorflow allocator, CPU:0 in use; no NVIDIA driver on this host" in row
    assert "\nVRAM" not in shown.out


def test_a_metric_without_a_value_says_why(live_hub: LiveHub):
    with SimulatedAgent(live_hub.folders) as agent:
        agent.start_fit()
        agent.wait_acked()
        early = kmonitor("show", "last").out
        agent.end_boot()
        agent.wait_acked()
        late = kmonitor("show", "last").out

    assert "no steps measured yet" in early
    assert "histogram" not in early
    assert "the run ended before this was measured" in late


def test_show_tells_what_grows_with_its_evidence_and_when_a_limit_is_met(live_hub: LiveHub):
    grows = Growing(
        ram_mib=8.0, traces=2, retained=2, function="train_function", ram_of_bytes=1400 * 2.0**20
    )
    with SimulatedAgent(live_hub.folders) as agent:
        for event in events_of(grows, 40):
            agent.emit(event)
        agent.wait_acked()
        live = kmonitor("show", "last").out
        verdicts = kmonitor("show", "last", "--json").json["verdicts"]
        agent.end_boot()
        agent.wait_acked()
        ended = kmonitor("show", "last").out

    for words in (
        "RAM         leak suspected: +8.02 MiB / epoch; traces of models that no longer exist are",
        "+8.02 MiB / epoch (95% interval",
        "Grew along with it: traces of models that no longer exist +2 / epoch",
        "host limit 1.4 GiB in about 10 epochs (",
        f"What may help: Collect (kmonitor command {agent.run[:8]} collect)",
        "Step time   steady",
    ):
        assert words in live
    assert [one["state"] for one in verdicts] == ["suspected", "suspected", "steady"]
    assert "leak suspected" in ended
    assert "host limit" not in ended


def test_a_run_that_has_just_begun_is_measured(told: SimulatedAgent):
    shown = kmonitor("show", "last").out

    assert "RAM         measuring" in shown
    assert "\nAllocator   measuring" in shown


def test_show_tells_what_a_diagnosis_found_and_which_lines_allocated(told: SimulatedAgent):
    found = Diagnosis(
        t_s=3.0, fit=1, epoch=0, seconds=0.1, holders=["5 traces held by `my_step` (5 shapes)"]
    )
    lines = Diagnosis(
        t_s=4.0,
        fit=1,
        epoch=1,
        seconds=0.1,
        allocations=[AllocationGrowth("train.py:41", 12 * 2**20, 40)],
    )
    for event in (found, lines):
        told.emit(event)
    told.wait_acked()

    shown = kmonitor("show", "last").out.splitlines()

    at = next(n for n, line in enumerate(shown) if "Diagnosis after epoch 1: 5 traces" in line)
    assert shown[at + 1].strip() == "5 traces held by `my_step` (5 shapes)"
    assert shown[at + 2].endswith(
        "up to the end of epoch 2: most new memory: train.py:41 (+12.0 MiB)"
    )
    assert shown[at + 3].strip() == "train.py:41: growth +12.0 MiB, blocks +40"


def test_show_as_json_has_summary_and_events(told: SimulatedAgent):
    shown = kmonitor("show", "last", "--json").json

    assert shown["summary"]["run"] == told.run
    assert shown["summary"]["ram"]["source"]
    assert [event["type"] for event in shown["events"]][:2] == ["session", "fit_start"]


@pytest.mark.exposed
def test_follow_tells_new_events_until_the_run_has_ended(told: SimulatedAgent):
    process = start_kmonitor("show", "last", "--follow")
    assert process.stdout is not None
    for line in process.stdout:
        if "Fit 1 started" in line:
            break

    told.start_epoch()
    told.end_epoch(loss=0.125)
    told.end_fit()
    told.end_boot()
    out, err = process.communicate(timeout=DEADLINE_S)

    assert process.returncode == 0, err
    assert "Epoch 3 of fit 1" in out
    assert "loss 0.125" in out
    assert "Process finished" in out


@pytest.mark.parametrize("ended", ["failed", "interrupted", "died"])
def test_following_a_run_that_ended_badly_exits_with_5(told: SimulatedAgent, ended: str):
    if ended == "died":
        told.emit(
            SessionDied(
                t_s=told.now_s(),
                session=told.session,
                how="signal",
                signal="SIGKILL",
                why="killed",
            )
        )
    else:
        told.end_boot(ended)
    told.wait_acked()

    ran = kmonitor("show", "last", "--follow")

    assert ran.status == 5
    assert ran.err.startswith("kmonitor: resnet [red]fold[/]")
    assert ("failed (killed)" if ended == "died" else ended) in ran.err
    assert kmonitor("show", "last").status == 0


def test_following_outlives_a_hub_that_is_killed_and_no_line_is_lost_or_doubled(
    told: SimulatedAgent, live_hub: LiveHub
):
    with start_kmonitor("show", "last", "--follow", "--json") as process:
        assert process.stdout is not None
        before = [process.stdout.readline() for _ in range(2)]
        live_hub.kill()
        told.start_epoch()
        told.end_epoch(loss=0.125)
        told.end_fit()
        told.end_boot()
        out = process.stdout.read()  # `communicate` would forget what is buffered already
        _, err = process.communicate(timeout=DEADLINE_S)

    shown = [json.loads(line) for line in [*before, *out.splitlines()]]
    numbers = [event["seq"] for event in shown if event["seq"]]
    waits, goes_on = err.splitlines()
    assert process.returncode == 0, err
    assert numbers == sorted(set(numbers))
    assert [event["type"] for event in shown if event["seq"]][-3:] == [
        "epoch_end",
        "fit_end",
        "session_end",
    ]
    assert "Waiting for it" in waits
    assert "reconnected" in goes_on


def test_following_as_json_writes_one_event_a_line(told: SimulatedAgent):
    told.end_fit()
    told.end_boot()
    told.wait_acked()

    lines = kmonitor("show", "last", "--follow", "--json").lines

    assert lines[0]["type"] == "session"
    assert lines[-1]["type"] == "session_end"


def test_ctrl_c_ends_following_quietly(told: SimulatedAgent):
    with start_kmonitor("show", "last", "--follow") as process:
        assert process.stdout is not None
        for line in process.stdout:
            if "Fit 1 started" in line:
                break
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=DEADLINE_S)

    assert process.returncode == 130
    assert err == ""


def test_a_reader_that_leaves_is_no_failure(told: SimulatedAgent):
    for _ in range(5000):
        told.sample()
    told.wait_acked()

    with start_kmonitor("export", "last", "--format", "json") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        err = process.stderr.read()

    assert err == ""
    assert process.returncode == 141


@pytest.mark.parametrize("arguments", [("runs",), ("show", "last")], ids=lambda it: it[0])
def test_a_reader_that_was_never_there_is_no_failure_either(
    told: SimulatedAgent, arguments: tuple[str, ...]
):
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as gone:
        ran = subprocess.run(
            [sys.executable, "-m", MODULE, *arguments],
            stdout=gone,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )

    assert ran.stderr == ""
    assert ran.returncode == 141


def test_export_as_json_has_every_event_once_and_in_order(told: SimulatedAgent):
    lines = kmonitor("export", "last", "--format", "json").lines

    assert [line["seq"] for line in lines] == list(range(1, len(told.bodies) + 1))
    assert list(lines[0])[:3] == ["seq", "t_s", "type"]
    ended = next(line for line in lines if line["type"] == "epoch_end")
    assert ended["logs"] == {"loss": 0.5}
    assert ended["step_times"]["p50_s"] == 0.02


def test_export_as_csv_goes_into_the_file_that_was_named(told: SimulatedAgent, tmp_path: Path):
    file = tmp_path / "run.csv"
    file.write_text("old")

    ran = kmonitor("export", "last", "--format", "csv", "--output", file)

    rows = list(csv.DictReader(file.read_text().splitlines()))
    assert ran.status == 0, ran.err
    assert ran.out == ""
    assert "4 lines written to " in ran.err
    assert "ram_bytes: process: /proc/self/statm" in ran.err
    assert "device_total_bytes is empty: no NVIDIA driver on this host" in ran.err
    assert [row["type"] for row in rows] == ["sample", "epoch_end"] * 2
    assert list(tmp_path.glob("*.part")) == []


def test_the_form_of_an_export_follows_from_the_files_ending(told: SimulatedAgent, tmp_path: Path):
    table, events = tmp_path / "run.CSV", tmp_path / "run.json"
    assert kmonitor("export", "last", "--output", table).status == 0
    assert kmonitor("export", "last", "--output", events).status == 0

    assert table.read_text().startswith("seq,t_s,type,")
    assert events.read_text().startswith('{"seq":1,')


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "--format csv or json"),
        (("--output", "run.xlsx"), "--format csv, json or parquet"),
        (("--format", "parquet"), "--output"),
    ],
    ids=["nothing", "unknown-ending", "parquet-to-a-terminal"],
)
def test_an_export_of_no_known_form_says_what_to_add(
    told: SimulatedAgent, arguments: tuple[str, ...], said: str
):
    ran = kmonitor("export", "last", *arguments)

    assert ran.status == 2
    assert said in ran.err


@pytest.mark.parametrize(
    ("place", "remedy"),
    [("no-such-folder/run.csv", "Choose another file"), ("a-folder", "Choose a file inside it")],
)
def test_an_output_that_cannot_be_written_is_named(
    told: SimulatedAgent, tmp_path: Path, place: str, remedy: str
):
    (tmp_path / "a-folder").mkdir()

    ran = kmonitor("export", "last", "--format", "csv", "--output", tmp_path / place)

    assert ran.status == 1
    assert "cannot be written" in ran.err
    assert remedy in ran.err
    assert list(tmp_path.glob("*.part")) == []


def test_a_report_is_named_after_its_run_or_goes_into_the_file_that_was_named(
    told: SimulatedAgent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)

    named, unnamed = (
        kmonitor("report", "last", "--output", "leak.html"),
        kmonitor("report", "last"),
    )

    assert (named.out, unnamed.out) == (
        "leak.html\n",
        f"resnet--red-fold------2J-{told.run[:8]}.html\n",
    )
    for file in tmp_path.glob("*.html"):
        assert file.read_text().startswith("<!DOCTYPE html>")
    assert kmonitor("report", "last", "--into", "no-such-folder/x.html").status == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ("show", "zz"),
        ("export", "zz", "--format", "csv"),
        ("report", "zz"),
        ("command", "zz", "save"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_an_unknown_run_is_named(told: SimulatedAgent, arguments: tuple[str, ...]):
    ran = kmonitor(*arguments)

    assert ran.status == 1
    assert ran.out == ""
    assert 'Unknown run: "zz"' in ran.err
    assert "kmonitor runs" in ran.err


def test_two_runs_of_a_name_are_told_apart_by_id(told: SimulatedAgent, folders: Folders):
    with SimulatedAgent(folders, name=told.name) as other:
        other.wait_acked()
        ran = kmonitor("show", told.name)

    assert ran.status == 1
    assert told.run in ran.err
    assert other.run in ran.err
