"""The environment is made again when what it holds has changed, and only then."""

import json
import sys
import threading
import venv
from pathlib import Path

import pytest
from kmonitor_setup.environment import (
    Project,
    fingerprint,
    is_ready,
    make_ready,
    only_one,
    python_can_make_environments,
)

from tests.support.waiting import DEADLINE_S, wait_until

SETTINGS = """\
[build-system]
requires = []

[project]
name = "nothing"
dependencies = [{dependency}]

[tool.ruff]
line-length = {line_length}
"""

LOCK = f"""\
hatchling==1.29 \\
    --hash=sha256:{"1" * 64}
msgspec=={{version}} \\
    --hash=sha256:{"0" * 64}
unneeded==3 \\
    --hash=sha256:{"2" * 64}
"""


def project_in(folder: Path, *, dependency: str = "", line_length: int = 99) -> Project:
    """A clone with a lock and settings, and nothing else."""
    project = Project.at(folder)
    project.lock.parent.mkdir(parents=True, exist_ok=True)
    project.lock.write_text(LOCK.format(version="0.22.0"))
    settings = SETTINGS.format(dependency=dependency, line_length=line_length)
    (folder / "pyproject.toml").write_text(settings)
    return project


def mark_ready(project: Project, *extras: str) -> None:
    """Files that a successful set-up leaves behind."""
    project.python.parent.mkdir(parents=True)
    project.python.touch()
    stamp = {"fingerprint": fingerprint(project), "extras": list(extras)}
    project.stamp.write_text(json.dumps(stamp))


def test_a_complete_environment_is_not_made_again(tmp_path: Path):
    project = project_in(tmp_path)
    mark_ready(project, "demo", "desktop")

    assert is_ready(project, ["demo", "desktop"])


def test_another_extra_is_not_there_yet(tmp_path: Path):
    project = project_in(tmp_path)
    mark_ready(project, "demo", "desktop")

    assert not is_ready(project, ["demo", "desktop", "dev"])


def test_a_changed_dependency_asks_for_another_set_up(tmp_path: Path):
    mark_ready(project_in(tmp_path), "demo")

    project = project_in(tmp_path, dependency='"rich"')

    assert not is_ready(project, ["demo"])


def test_a_changed_lock_asks_for_another_set_up(tmp_path: Path):
    project = project_in(tmp_path)
    mark_ready(project, "demo")

    project.lock.write_text(LOCK.format(version="0.22.1"))

    assert not is_ready(project, ["demo"])


def test_a_changed_setting_of_a_tool_does_not(tmp_path: Path):
    mark_ready(project_in(tmp_path), "demo")

    project = project_in(tmp_path, line_length=79)

    assert is_ready(project, ["demo"])


def test_an_interrupted_installation_is_not_taken_for_a_complete_one(tmp_path: Path):
    project = project_in(tmp_path)
    mark_ready(project, "demo")

    project.unfinished.touch()

    assert not is_ready(project, ["demo"])


@pytest.mark.parametrize("torn", ["", "{", "[]", '{"fingerprint": 3}'])
def test_a_torn_stamp_asks_for_another_set_up(tmp_path: Path, torn: str):
    project = project_in(tmp_path)
    mark_ready(project, "demo")

    project.stamp.write_text(torn)

    assert not is_ready(project, ["demo"])


def test_this_python_can_make_environments():
    assert python_can_make_environments()


def test_a_second_set_up_of_the_same_clone_waits_for_the_first(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
):
    project = project_in(tmp_path)
    entered = threading.Event()

    def second() -> None:
        with only_one(project):
            entered.set()

    waiting = threading.Thread(target=second, name="second set-up")
    with only_one(project):
        waiting.start()
        wait_until(
            lambda: "waiting for it" in capfd.readouterr().out, what="it says that it waits"
        )
        assert not entered.is_set()

    wait_until(entered.is_set)
    waiting.join(DEADLINE_S)


@pytest.mark.full
def test_an_interrupted_environment_is_thrown_away_and_made_afresh(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    project = project_in(tmp_path)
    venv.create(project.venv, with_pip=False)
    project.unfinished.touch()
    half_installed = project.venv / "lib" / "half-installed"
    half_installed.touch()
    installed: list[list[str]] = []
    monkeypatch.setattr(
        "kmonitor_setup.environment.pip_install",
        lambda _python, arguments, log: installed.append(list(arguments)),
    )
    with (tmp_path / "pyproject.toml").open("a") as settings:
        settings.write('\n[project.optional-dependencies]\ndemo = ["msgspec"]\n')
        settings.write('\n[dependency-groups]\nbuild = ["hatchling"]\n')

    make_ready(project, ["demo"])

    assert not half_installed.exists()
    assert is_ready(project, ["demo"])
    assert installed[0][0] == "--require-hashes"
    listed = Path(installed[0][-1]).read_text()
    assert "msgspec==0.22.0" in listed
    assert "hatchling==1.29" in listed
    assert "unneeded" not in listed
    assert installed[1] == ["--no-deps", "--no-build-isolation", "--editable", str(tmp_path)]
    assert (project.venv / "pyvenv.cfg").read_text().count(sys.base_prefix)
