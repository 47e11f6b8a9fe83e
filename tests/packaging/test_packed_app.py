"""Contents of the packed app on each system, and its use in place of a Python."""

import importlib.util
import os
import struct
import subprocess
import sys
import types
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import pytest
from kmonitor_release.app_folder import archive_name, write_archive
from kmonitor_release.app_parts import EXCLUDED, icon_file, is_left_to_system, module_names

from kmonitor.cli import main as command_line
from tests.support.source_tree import ROOT

SPEC = ROOT / "packaging" / "pyinstaller" / "kmonitor.spec"

PICTURES = ROOT / "resources" / "icons" / "program"

ENTRY = ROOT / "packaging" / "pyinstaller" / "kmonitor_app.py"


@pytest.fixture
def entry() -> types.ModuleType:
    spec = importlib.util.spec_from_file_location("kmonitor_app", ENTRY)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Analysed:
    """Stands for PyInstaller's analysis: remembers what it was given."""

    def __init__(self, scripts: list[str], **given: Any) -> None:
        self.scripts, self.given = scripts, given
        self.pure: list[str] = []
        self.datas: list[tuple[str, str, str]] = []
        system = "/usr/lib/x86_64-linux-gnu/"
        self.binaries = [
            ("libGL.so.1", f"{system}libGL.so.1", "BINARY"),
            ("libssl.so.3", f"{system}libssl.so.3", "BINARY"),
        ]


def evaluated(
    system: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Names of the spec after it ran on a system, and what it called PyInstaller's parts with."""
    package = folder / "site" / "kmonitor"
    pictures = package / "resources" / "icons" / "program"
    pictures.mkdir(parents=True)
    (package / "__init__.py").touch()
    for picture in PICTURES.glob("*.png"):
        (pictures / picture.name).write_bytes(picture.read_bytes())
    called: dict[str, dict[str, Any]] = {}

    def part(name: str) -> Any:
        return lambda *_given, **named: called.setdefault(name, named)

    hooks = types.ModuleType("PyInstaller.utils.hooks")
    hooks.__dict__["collect_data_files"] = lambda package: [(f"{package}/resources", "resources")]
    hooks.__dict__["copy_metadata"] = lambda name: [(f"{name}.dist-info", name)]
    for name in ("PyInstaller", "PyInstaller.utils", "PyInstaller.utils.hooks"):
        monkeypatch.setitem(sys.modules, name, hooks)
    found = ModuleSpec("kmonitor", None, origin=str(package / "__init__.py"))
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: found)
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(sys, "prefix", str(folder))
    monkeypatch.setattr(sys, "path", [*sys.path])
    names: dict[str, Any] = {"SPECPATH": str(SPEC.parent), "workpath": str(folder / "work")}
    names["Analysis"] = Analysed
    names |= {name: part(name) for name in ("PYZ", "EXE", "COLLECT", "BUNDLE")}
    exec(compile(SPEC.read_text(encoding="utf-8"), str(SPEC), "exec"), names)  # noqa: S102
    return names, called


@pytest.mark.parametrize(
    ("system", "icon"), [("linux", None), ("win32", "kmonitor.ico"), ("darwin", "kmonitor.icns")]
)
def test_the_spec_holds_on_every_system(
    system: str, icon: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    names, called = evaluated(system, tmp_path, monkeypatch)

    given = names["analysis"].given
    assert Path(names["analysis"].scripts[0]) == ENTRY
    assert given["hiddenimports"] == ["kmonitor"]
    assert set(given["excludes"]) >= {"tensorflow", "keras", "tkinter"}
    assert ("kmonitor/resources", "resources") in given["datas"]
    assert called["EXE"]["icon"] == (None if icon is None else str(tmp_path / "work" / icon))
    assert ("BUNDLE" in called) == (system == "darwin")
    assert [name for name, _, _ in names["analysis"].binaries] == ["libssl.so.3"]


def test_the_spec_refuses_to_pack_a_clone_in_place_of_the_wheel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(Path, "is_relative_to", lambda *_: False)

    with pytest.raises(SystemExit, match="not installed here"):
        evaluated("linux", tmp_path, monkeypatch)


def test_everything_that_is_imported_by_name_is_packed():
    names = set(module_names(ROOT))

    called = {where.partition(":")[0] for where, _ in command_line.SUBCOMMANDS.values()}
    assert called <= names
    assert {
        "kmonitor.hub.__main__",
        "kmonitor.ui.charts.qt.charts_controller",
        "kmonitor_agent",
    } <= names
    assert not any(name.endswith("__init__") for name in names)
    assert not names & set(EXCLUDED)


@pytest.mark.parametrize(
    ("path", "left"),
    [
        ("/usr/lib/x86_64-linux-gnu/libxcb-cursor.so.0", True),
        ("/lib/x86_64-linux-gnu/libstdc++.so.6", True),
        ("/usr/lib/x86_64-linux-gnu/libreadline.so.8", True),
        ("/usr/lib/x86_64-linux-gnu/libcrypto.so.3", False),
        ("/usr/lib/x86_64-linux-gnu/libpython3.11.so.1.0", False),
        ("/usr/lib/python3.11/lib-dynload/_ssl.cpython-311-x86_64-linux-gnu.so", False),
        ("/srv/venv/lib/python3.11/site-packages/PySide6/Qt/lib/libQt6Core.so.6", False),
    ],
)
def test_libraries_of_the_desktop_stay_the_systems(path: str, *, left: bool):
    assert is_left_to_system(path) is left


def test_icons_of_programs_hold_the_pictures_that_are_there(tmp_path: Path):
    ico = Path(icon_file("win32", PICTURES, tmp_path) or "").read_bytes()
    icns = Path(icon_file("darwin", PICTURES, tmp_path) or "").read_bytes()

    count, width, length, at = (*struct.unpack_from("<H", ico, 4), ico[6], 0, 0)
    length, at = struct.unpack_from("<II", ico, 6 + 8)
    assert (count, width) == (4, 16)
    assert ico[at : at + length] == (PICTURES / "16.png").read_bytes()
    assert struct.unpack_from(">I", icns, 4) == (len(icns),)
    assert icon_file("linux", PICTURES, tmp_path) is None


@pytest.mark.slow
def test_the_packed_app_runs_modules_and_code_as_a_python_does(tmp_path: Path):
    (tmp_path / "said.py").write_text("import sys; print(__name__, sys.argv[1:])")
    environ = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}

    def said(*words: str) -> str:
        command = [sys.executable, str(ENTRY), *words]
        told = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
        return told.stdout.strip()

    assert said("-P", "-S", "-m", "said", "a", "-b") == "__main__ ['a', '-b']"
    assert said("-I", "-c", "import sys; print(__name__, sys.argv)", "c") == "__main__ ['-c', 'c']"
    assert said("--version").startswith("kmonitor ")


def test_foreign_programs_get_their_own_libraries_from_the_packed_app(
    entry: types.ModuleType, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sys, "_MEIPASS", "/opt/app", raising=False)
    before = {"LD_LIBRARY_PATH": "/opt/app", "LD_LIBRARY_PATH_ORIG": "/mine"}
    none_before = {"LD_LIBRARY_PATH": "/opt/app"}

    entry.main(["--version"], before)
    entry.main(["--version"], none_before)

    assert before == {"LD_LIBRARY_PATH": "/mine"}
    assert none_before == {}


def test_an_archive_is_the_same_whoever_writes_it_and_when(tmp_path: Path):
    made: list[bytes] = []
    for n, mode in enumerate((0o700, 0o755)):
        folder = tmp_path / f"made{n}"
        folder.mkdir()
        for name in ("b", "a") if n else ("a", "b"):
            (folder / name).write_text(name)
        (folder / "a").chmod(mode)
        (folder / "link").symlink_to("a")
        os.utime(folder / "b", (n, n))
        made.append(write_archive(folder, "app", tmp_path, 86_400).read_bytes())

    assert made[0] == made[1]


def test_an_archive_is_named_after_version_system_and_machine():
    assert archive_name("1.2").startswith("kmonitor-1.2-")
