"""Wheel and source are the same bytes of the same commit, and the hub's image is made of them."""

import fnmatch
import hashlib
import json
import os
import re
import sys
import tarfile
import zipfile
from pathlib import Path

import install_locked
import pytest
from build import CHECKSUMS, PARTS, write_checksums
from build import main as build_parts
from kmonitor_release.commands import CannotBuild, run
from kmonitor_release.distributions import Distributions, make_distributions
from kmonitor_release.source import take_source
from kmonitor_setup.commands import CommandFailed, run_command
from kmonitor_setup.lock_file import plain_name

from kmonitor_agent.wire.release import VERSION
from tests.support.source_tree import ROOT

DOCKERFILE = ROOT / "packaging" / "docker" / "Dockerfile"


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> list[Distributions]:
    """Wheel and source of the last commit, made twice by two people."""
    made: list[Distributions] = []
    for n, mask in enumerate((0o077, 0o002)):
        place = tmp_path_factory.mktemp(f"made{n}")
        before = os.umask(mask)
        try:
            try:
                source = take_source(ROOT, place / "source")
            except CannotBuild as exc:
                pytest.skip(str(exc))
            into = place / "dist"
            into.mkdir()
            python = Path(sys.executable)
            made.append(make_distributions(python, source, place / "work", into))
        finally:
            os.umask(before)
    return made


@pytest.mark.full
def test_the_same_commit_makes_the_same_bytes(two: list[Distributions]):
    first, again = two

    assert first.wheel.read_bytes() == again.wheel.read_bytes()
    assert first.sdist.read_bytes() == again.sdist.read_bytes()


@pytest.mark.full
def test_the_wheel_holds_code_resources_and_type_markers_alone(two: list[Distributions]):
    with zipfile.ZipFile(two[0].wheel) as wheel:
        names = wheel.namelist()
        metadata = wheel.read(f"kmonitor_keras-{VERSION}.dist-info/METADATA").decode()

    tops = {name.partition("/")[0] for name in names}
    assert tops == {"kmonitor", "kmonitor_agent", f"kmonitor_keras-{VERSION}.dist-info"}
    assert {"kmonitor/py.typed", "kmonitor_agent/py.typed"} <= set(names)
    assert "kmonitor/resources/languages/kmonitor_zh_CN.qm" in names
    assert "kmonitor/resources/guide/zh_CN/index.md" in names
    assert f"\nVersion: {VERSION}\n" in metadata


@pytest.mark.full
def test_the_source_holds_what_it_takes_to_build_and_test(two: list[Distributions]):
    with tarfile.open(two[0].sdist) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}

    for name in ("pyproject.toml", "LICENSE", "packaging/lock.txt", "packaging/build.py"):
        assert name in names
    assert "tests/packaging/test_lock.py" in names


def test_a_failing_tool_is_told_with_what_it_said():
    with pytest.raises(CannotBuild, match=r"(?s)a thing: status 3.*broken"):
        run([sys.executable, "-c", "import sys; print('broken'); sys.exit(3)"], what="a thing")
    with pytest.raises(CannotBuild, match="no-such-tool"):
        run(["no-such-tool-of-ours"], what="a thing")


def test_a_command_is_typed_to_and_ended_when_its_time_is_over():
    read = [sys.executable, "-c", "print(input())"]
    hang = [sys.executable, "-c", "import threading; threading.Event().wait()"]

    assert run_command(read, typed="a word\n") == "a word\n"
    with pytest.raises(CommandFailed, match=r"not within 0\.1 s"):
        run_command(hang, limit_s=0.1)


def test_checksums_are_as_sha256sum_reads_them(tmp_path: Path):
    for name in ("b.whl", "a.deb"):
        (tmp_path / name).write_text(name)

    write_checksums([tmp_path / "b.whl", tmp_path / "a.deb"], tmp_path)

    told = (tmp_path / CHECKSUMS).read_text()
    assert told.splitlines()[0] == f"{hashlib.sha256(b'a.deb').hexdigest()}  a.deb"
    assert [line.split()[1] for line in told.splitlines()] == ["a.deb", "b.whl"]


def test_a_part_of_the_lock_is_the_core_with_extras_or_tools_alone():
    core = {plain_name(one) for one in install_locked.requirements([], [])}
    window = {plain_name(one) for one in install_locked.requirements(["desktop"], [])}
    tools = {plain_name(one) for one in install_locked.requirements([], ["build"])}

    assert {"pyzmq", "msgspec"} <= core
    assert window - core == {"pyside6-essentials", "pyqtgraph"}
    assert tools == {"editables", "hatchling"}


def dockerfile() -> list[tuple[str, str]]:
    """Instructions and what follows them, without comments."""
    text = re.sub(r"(?m)^\s*#.*\n", "", DOCKERFILE.read_text(encoding="utf-8"))
    lines = text.replace("\\\n", " ").splitlines()
    return [(line.split()[0], line.partition(" ")[2]) for line in lines if line.strip()]


def test_the_image_of_the_hub_runs_as_nobody_special_and_keeps_its_history_apart():
    told = dict(dockerfile())

    assert told["USER"].isdigit()
    assert int(told["USER"]) > 0
    assert told["VOLUME"] == "/history"
    assert "KMONITOR_HOME=/history" in told["ENV"]
    assert json.loads(told["ENTRYPOINT"]) == ["kmonitor", "hub"]
    assert json.loads(told["HEALTHCHECK"].partition("CMD ")[2]) == ["kmonitor", "hub", "status"]
    assert json.loads(told["CMD"])[0] == "--bind"
    assert told["EXPOSE"] == json.loads(told["CMD"])[1].rpartition(":")[2]


def test_the_image_of_the_hub_installs_by_hash_and_has_no_window():
    steps = " ".join(words for name, words in dockerfile() if name == "RUN")

    assert steps.count("packaging/install_locked.py --into /opt/kmonitor") == 2
    for install in re.findall(r"pip install[^&]*", steps):
        assert "--no-deps" in install
    (extras,) = re.findall(r"--extras ([a-z ]+)", steps)
    assert set(extras.split()) <= set(install_locked.requirements_by_extra())
    assert "desktop" not in steps
    bases = [words.split()[0] for name, words in dockerfile() if name == "FROM"]
    assert all(re.fullmatch(r"python:3\.1[1-3]-slim-\w+", base) for base in bases)


def test_all_that_the_image_is_built_of_reaches_docker():
    lines = (DOCKERFILE.parent / "Dockerfile.dockerignore").read_text().splitlines()
    taken = [line[1:] for line in lines if line.startswith("!")]

    for name in ("kmonitor", "kmonitor_agent", "resources", "packaging", "pyproject.toml"):
        assert any(fnmatch.fnmatch(name, pattern) for pattern in taken)
    settings = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    for name in re.findall(r'(?:readme = |license-files = \[)"([^"]+)"', settings):
        assert name in taken


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_names_every_part_and_makes_none(option: str, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as ended:
        build_parts([option])

    assert ended.value.code == 0
    said = capsys.readouterr().out
    assert said.startswith("usage: ")
    assert all(f"  {name} " in said for name in PARTS)


def test_a_part_that_there_is_not_is_refused(capsys: pytest.CaptureFixture[str]):
    assert build_parts(["python", "rpm"]) == 2

    assert capsys.readouterr().out == "no such part: rpm; there are python, app, deb\n"
