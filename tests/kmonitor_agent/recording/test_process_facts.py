"""Identity of a process: its run's name, and what private runs leave out."""

import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from kmonitor_agent.recording.privacy import Privacy
from kmonitor_agent.recording.process_facts import (
    default_run_name,
    possible_actions,
    session_started,
)
from kmonitor_agent.wire.messages.codec import decode_event, encode_event
from kmonitor_agent.wire.messages.commands import CommandName

NAME = "from kmonitor_agent.recording.process_facts import default_run_name as n; print(n())"


def printed(*arguments: str, cwd: Path | None = None) -> str:
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, check=True, cwd=cwd
    )
    return done.stdout.strip()


def test_run_is_named_after_the_script(tmp_path: Path):
    (tmp_path / "train_mnist.py").write_text(NAME)

    assert printed(str(tmp_path / "train_mnist.py")) == "train_mnist.py"


def test_run_of_a_module_is_named_after_it(tmp_path: Path):
    (tmp_path / "lab").mkdir()
    (tmp_path / "lab" / "__init__.py").write_text("")
    (tmp_path / "lab" / "__main__.py").write_text(NAME)

    assert printed("-m", "lab", cwd=tmp_path) == "python -m lab"


def test_run_without_a_script_has_a_name():
    assert printed("-c", NAME) == "python"


def test_first_event_says_who_the_process_is(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SLURM_JOB_ID", "123")
    monkeypatch.setattr(sys, "argv", ["train.py", "--rate", "0.1"])

    told = session_started(
        session_id="b",
        name="run",
        wall_s=5.0,
        interval_s=1.0,
        privacy=Privacy(private=False),
        state=Path("not-made"),
    )
    assert not Path("not-made").exists()

    assert told.argv == ["train.py", "--rate", "0.1"]
    assert told.job == "slurm 123"
    assert told.versions["python"].startswith("3.")
    assert told.pid_namespace > 0


def test_first_event_spells_out_bytes_that_are_no_text(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setenv("SLURM_JOB_ID", "\udcff")
    monkeypatch.setattr(sys, "argv", ["caf\udce9.py", "x" * 5000, *["y" * 4096] * 20])
    monkeypatch.setattr(sys.modules["__main__"], "__spec__", None)
    monkeypatch.setattr(sys.modules["__main__"], "__file__", "/a/caf\udce9.py", raising=False)

    for private in (False, True):
        told = session_started(
            session_id="b",
            name=default_run_name(),
            wall_s=5.0,
            interval_s=1.0,
            privacy=Privacy(private=private),
            state=tmp_path,
        )
        assert decode_event(encode_event(told)) == told
        if not private:
            assert told.name == "job \\udcff \N{MIDDLE DOT} caf\\udce9.py"
            assert told.script == "/a/caf\\udce9.py"
            assert (told.argv[0], told.job) == ("caf\\udce9.py", "slurm \\udcff")
            assert sum(map(len, told.argv)) <= 32 * 1024


def test_ranks_of_a_private_group_name_it_alike(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("SLURM_JOB_ID", "123")
    monkeypatch.setenv("WORLD_SIZE", "2")
    told = []
    for rank in ("0", "1"):
        monkeypatch.setenv("RANK", rank)
        told.append(
            session_started(
                session_id=f"b{rank}",
                name="run",
                wall_s=5.0,
                interval_s=1.0,
                privacy=Privacy(private=True),
                state=tmp_path,
            )
        )

    assert [each.rank for each in told] == [0, 1]
    assert told[0].group == told[1].group
    assert "123" not in told[0].group


@pytest.mark.promise(12)
def test_private_process_sends_no_names_paths_or_arguments(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setattr(sys, "argv", ["/home/ada/secret.py", "--token", "x"])

    told = session_started(
        session_id="b",
        name="secret.py",
        wall_s=5.0,
        interval_s=1.0,
        privacy=Privacy(private=True),
        state=tmp_path,
    )

    assert (told.argv, told.script, told.private) == ([], "", True)
    assert "secret" not in told.name
    assert len(told.name) == len(told.host) == 12


def test_hash_is_equal_within_a_run_and_different_between_runs():
    one, other = Privacy(private=True), Privacy(private=True)

    assert one.name("dense_1") == one.name("dense_1") != other.name("dense_1")
    assert one.name("") == ""
    assert one.log_name("val_loss") == "val_loss"
    assert one.log_name("auc_of_patients") != "auc_of_patients"
    assert one.source("cgroup: /docker/abc") == "cgroup"
    assert one.text("path /home/ada") == ""


@pytest.mark.parametrize(
    ("unavailable", "lacking"),
    [
        ({}, set()),
        ({"reload": "no"}, {"reload", "restart"}),
        ({"collect": "no"}, {"collect"}),
        ({"collect": "no", "reload": "no"}, {"collect", "reload", "restart", "auto"}),
        ({"restart": "no"}, {"restart"}),
    ],
)
def test_actions_are_those_that_the_framework_allows(
    unavailable: dict[str, str], lacking: set[str]
):
    assert set(possible_actions(unavailable)) == set(get_args(CommandName)) - lacking
