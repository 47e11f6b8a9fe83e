"""Trials of the wheel alone: in an environment with nothing extra, and with window and demo."""

import shutil
from pathlib import Path

from kmonitor_trials.environments import (
    OWN_ENVIRON,
    install,
    locked_versions,
    make_environment,
)
from kmonitor_trials.outcome import ROOT, WORK, Failed, expect


def try_wheel() -> None:
    """The wheel holds its resources, and works in a clean environment with no extras.

    Raises:
        Failed: With what did not work.
    """
    python = make_environment("wheel")
    wheel = _make_wheel(python, WORK / "wheel" / "dist")
    pip = [python, "-m", "pip"]
    expect([*pip, "install", "-q", *locked_versions(), wheel], what="install the wheel, no extras")
    _expect_a_working_command(python)
    _expect(python, _LOOK_AT_PACKAGE, what="version, extras, entry point and type markers")
    _expect(python, _START_HUB, what="a hub starts, answers and stops")


def try_window() -> None:
    """From the wheel the window opens, speaks Chinese, has its Help; the demo runs to its end.

    Raises:
        Failed: With what did not work.
    """
    python = make_environment("wheel-window")
    wheel = _make_wheel(python, WORK / "wheel-window" / "dist")
    install(python, [f"{wheel}[desktop,demo]"], locked=True)
    _expect(python, _SPEAK_CHINESE, what="Help and translations")
    picture = WORK / "wheel-window" / "demo.png"
    picture.unlink(missing_ok=True)
    options = ["--temporary", "--seconds=0", f"--png={picture}"]
    environ = {**OWN_ENVIRON, "TF_CPP_MIN_LOG_LEVEL": "3"}
    expect(
        [python.parent / "kmonitor", "demo", *options],
        what="kmonitor demo: agent, hub and window",
        cwd=WORK / "wheel-window",
        environ=environ,
    )
    if not picture.is_file():
        raise Failed("the demo left no picture of its window")


def _make_wheel(python: Path, made: Path) -> Path:
    shutil.rmtree(made, ignore_errors=True)
    expect([python, "-m", "pip", "wheel", "-q", "--no-deps", "-w", made, ROOT], what="pip wheel")
    (wheel,) = made.glob("*.whl")
    return wheel


def _expect(python: Path, script: str, *, what: str) -> None:
    """Run a script that asserts, away from the clone."""
    place = python.parents[2]
    home = {"KMONITOR_HOME": str(place / "home"), "QT_QPA_PLATFORM": "offscreen", **OWN_ENVIRON}
    expect([python, "-I", "-c", script], what=what, cwd=place, environ=home)


def _expect_a_working_command(python: Path) -> None:
    """The command works from the wheel, and says kindly that the window is not installed."""
    home = {"KMONITOR_HOME": str(WORK / "wheel" / "home"), **OWN_ENVIRON}
    kmonitor = python.parent / "kmonitor"
    elsewhere = WORK / "wheel"
    expect([kmonitor, "--version"], what="kmonitor --version", cwd=elsewhere, environ=home)
    expect([kmonitor, "--help"], what="kmonitor --help", cwd=elsewhere, environ=home)
    said = expect(
        ["sh", "-c", f"'{kmonitor}' doctor; test $? -le 1"],
        what="kmonitor doctor",
        cwd=elsewhere,
        environ=home,
    )
    if "Traceback" in said:
        raise Failed("kmonitor doctor ends in a traceback")
    said = expect(
        ["sh", "-c", f"if '{kmonitor}'; then exit 1; fi"],
        what="kmonitor without Qt is refused in words",
        cwd=elsewhere,
        environ=home,
    )
    if "Traceback" in said or "desktop" not in said:
        raise Failed(f"kmonitor without Qt said: {said.strip()[-300:]}")
    _expect(python, _FIND_RESOURCES, what="icons, fonts, guide and more are in the wheel")


_FIND_RESOURCES = """
import kmonitor
from kmonitor.base.installation import resource_path
for name in ("demo", "desktop", "fonts", "guide", "guide/zh_CN", "icons", "icons/program",
             "languages", "themes"):
    folder = resource_path(name)
    assert kmonitor.__path__[0] in str(folder), folder
    assert any(folder.iterdir()), folder
"""

_LOOK_AT_PACKAGE = """
from importlib.metadata import entry_points, metadata, version
from importlib.resources import files
from kmonitor_agent.wire.release import VERSION
assert version("kmonitor-keras") == VERSION
said = metadata("kmonitor-keras")
assert {"desktop", "demo", "parquet", "ray"} <= set(said.get_all("Provides-Extra"))
(command,) = entry_points(group="console_scripts", name="kmonitor")
assert callable(command.load())
for package in ("kmonitor", "kmonitor_agent"):
    assert files(package).joinpath("py.typed").is_file(), package
"""

_START_HUB = """
import subprocess, sys
from kmonitor.cli.main import main
started = subprocess.run([sys.executable, "-m", "kmonitor", "hub", "ensure", "--json"])
assert started.returncode == 0
assert main(["hub", "status"]) == 0
assert main(["runs"]) == 0
assert main(["hub", "stop"]) == 0
"""

_SPEAK_CHINESE = """
from PySide6.QtCore import QCoreApplication, QTranslator
from kmonitor.ui.guide.pages import read_page
from kmonitor.ui.shell.qt.run_window import make_qt_application
from kmonitor.ui.text.language import tr, use_translation
from kmonitor.base.installation import resource_path
english = read_page("index.md")
application = make_qt_application()
translator = QTranslator()
assert translator.load("kmonitor_zh_CN", str(resource_path("languages")))
application.installTranslator(translator)
use_translation(lambda text: QCoreApplication.translate("presenters", text), "zh-CN")
assert tr("Graph size") != "Graph size"
chinese = read_page("index.md")
assert chinese and english and chinese != english
"""
