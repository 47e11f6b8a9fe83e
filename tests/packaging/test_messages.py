"""Set-up's messages: few lines while it works, and a remedy when it cannot continue."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from kmonitor_setup import apt
from kmonitor_setup.pip_run import download_in, failure_of, pip_install
from kmonitor_setup.words import CannotSetUp

from tests.support.source_tree import ROOT

SCRIPT = ROOT / "packaging" / "set_up.sh"

NO_NETWORK = """\
WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError(': \
Failed to establish a new connection: [Errno -3] Temporary failure in name resolution')
ERROR: No matching distribution found for hatchling>=1.27
"""


def run_script(*arguments: str, **environ: str) -> "subprocess.CompletedProcess[str]":
    """`set_up.sh` with a PATH that holds what a test puts there."""
    return subprocess.run(
        ["/bin/sh", str(SCRIPT), *arguments],
        env={"PATH": "/usr/bin:/bin", **environ},
        capture_output=True,
        text=True,
        check=False,
    )


def fake_python(folder: Path, version: str) -> Path:
    """A program called python3 that says it is `version` and fits nowhere."""
    program = folder / "python3"
    program.write_text(f'#!/bin/sh\n[ "$1" = --version ] && echo "Python {version}"\nexit 1\n')
    program.chmod(0o755)
    return program


def test_a_big_download_is_named_with_its_size():
    line = "  Downloading tensorflow_cpu-2.21.0-cp311-cp311-manylinux_2_27_x86_64.whl (239.5 MB)"

    assert download_in(line) == "downloading tensorflow_cpu 2.21.0 (240 MB)"


@pytest.mark.parametrize(
    "line",
    [
        "  Downloading rich-15.0.0-py3-none-any.whl (243 kB)",
        "  Downloading ruff-0.17.5-py3-none-linux.whl (11.4 MB)",
        "Collecting numpy",
    ],
)
def test_small_things_are_not_worth_a_line(line: str):
    assert not download_in(line)


def test_a_missing_network_is_told_apart_from_a_missing_package(tmp_path: Path):
    offline = failure_of(NO_NETWORK, tmp_path / "log")
    unknown = failure_of("ERROR: No matching distribution found for x", tmp_path / "log")

    assert "index does not answer" in offline.what
    assert "HTTPS_PROXY" in offline.remedy
    assert "No matching distribution" in unknown.remedy
    assert "no version of a package that fits" in unknown.what


def test_a_file_that_is_not_the_locked_one_is_named_as_such(tmp_path: Path):
    log = tmp_path / "log"
    wheel = tmp_path / "thing-1.0-py3-none-any.whl"
    wheel.write_bytes(b"PK\x05\x06" + bytes(18))
    listed = tmp_path / "requirements.txt"
    listed.write_text(f"thing==1.0 --hash=sha256:{'0' * 64}\n")
    options = ["--no-index", "--find-links", str(tmp_path), "--require-hashes"]

    with pytest.raises(CannotSetUp, match="its hash is another one") as refused:
        pip_install(Path(sys.executable), [*options, "-r", str(listed)], log=log)

    assert "PIP_INDEX_URL" in refused.value.remedy


def test_what_pip_said_is_kept_in_the_log(tmp_path: Path):
    log = tmp_path / "logs" / "install.log"

    with pytest.raises(CannotSetUp):
        pip_install(Path(sys.executable), ["--no-index", "kmonitor-is-not-on-disk"], log=log)

    assert "kmonitor-is-not-on-disk" in log.read_text()


def test_a_user_gets_one_line_to_paste():
    line = apt.install_line(["libgl1", "xvfb"])

    assert line == "sudo apt-get update && sudo apt-get install --yes libgl1 xvfb"


def test_asking_for_no_apt_is_respected_also_by_root():
    assert apt.why_not_allowed(no_apt=True) == "NO_APT is set"


def test_a_python_that_was_named_and_does_not_fit_is_refused(tmp_path: Path):
    old = fake_python(tmp_path, "3.9.2")

    told = run_script(PYTHON=str(old))

    assert told.returncode == 1
    assert "is not Python 3.11, 3.12 or 3.13" in told.stderr


def test_without_a_python_that_fits_the_user_is_told_what_to_do(tmp_path: Path):
    fake_python(tmp_path, "3.9.2")
    for name in ("dirname", "sh", "cat"):
        (tmp_path / name).symlink_to(f"/usr/bin/{name}")

    told = run_script(PATH=str(tmp_path), KMONITOR_TARGET="run")

    assert told.returncode == 1
    assert "python3 is: Python 3.9.2" in told.stderr
    assert "make run PYTHON=" in told.stderr


def test_help_of_the_set_up_says_what_it_sets_up():
    told = run_script("--help", PYTHON=sys.executable, HOME=os.environ.get("HOME", "/"))

    assert told.returncode == 0
    assert "--no-apt" in told.stdout
