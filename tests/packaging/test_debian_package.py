"""The Debian package puts everything where a desktop, a shell and systemd look for it."""

import gzip
import inspect
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from kmonitor_release.debian_package import (
    NOBODY,
    Contents,
    depends,
    lay_out,
    maintainer,
    make_package,
    metainfo,
)
from kmonitor_release.source import Source
from kmonitor_setup.libraries import needed_libraries

from kmonitor.cli import main as command_line
from kmonitor.cli.window import window
from tests.support.source_tree import ROOT

SOURCE = Source(ROOT, "0" * 40, 86_400)

APPSTREAM = shutil.which("appstreamcli")


@pytest.fixture
def contents(tmp_path: Path) -> Contents:
    app = tmp_path / "app"
    (app / "_internal").mkdir(parents=True)
    (app / "kmonitor").write_text("#!/bin/sh\necho packed\n")
    (app / "kmonitor").chmod(0o755)
    (app / "_internal" / "part.so.1").touch(0o755)
    (app / "LICENCES.txt").write_text("all of them\n")
    return Contents(app, ("LICENCES.txt",), "0.9")


def test_every_file_lies_where_it_is_looked_for(tmp_path: Path, contents: Contents):
    tree = tmp_path / "tree"

    lay_out(tree, contents, SOURCE)

    share = tree / "usr" / "share"
    said = subprocess.run([tree / "usr/bin/kmonitor"], capture_output=True, text=True, check=True)
    assert said.stdout == "packed\n"
    assert (share / "applications/kmonitor.desktop").read_text().count("Exec=kmonitor\n") == 2
    assert (share / "icons/hicolor/48x48/apps/kmonitor.png").is_file()
    assert (share / "icons/hicolor/scalable/apps/kmonitor.svg").is_file()
    documents = share / "doc" / "kmonitor"
    assert (documents / "LICENCES.txt").read_text() == "all of them\n"
    assert (documents / "LICENCES.txt").readlink() == Path("../../../lib/kmonitor/LICENCES.txt")
    assert b"Unreleased" in gzip.decompress((documents / "CHANGELOG.md.gz").read_bytes())
    told = gzip.decompress((documents / "changelog.gz").read_bytes()).decode()
    assert told.startswith("kmonitor (0.9) unstable;")
    assert told.endswith(">  Fri, 02 Jan 1970 00:00:00 +0000\n")
    unit = tree / "usr/lib/systemd/user/kmonitor-hub.service"
    assert unit.read_bytes() == (ROOT / "packaging/systemd/kmonitor-hub.service").read_bytes()


def test_who_hands_the_package_out_is_its_maintainer():
    assert maintainer({"DEBEMAIL": "ann@lab.example"}) == "kmonitor developers <ann@lab.example>"
    assert maintainer({"DEBFULLNAME": "Ann", "DEBEMAIL": "a@b.example"}) == "Ann <a@b.example>"
    assert maintainer({"DEBFULLNAME": "Ann"}) == NOBODY


def test_the_libraries_of_qt_are_asked_for():
    asked = set(re.split(r", | \| ", depends()))

    for one in needed_libraries():
        assert (one.package in asked) == (one.purpose != "tests"), one


@pytest.mark.skipif(not shutil.which("dpkg-deb"), reason="dpkg is not here")
def test_the_package_is_the_same_each_time_and_everybodys(tmp_path: Path, contents: Contents):
    made: list[Path] = []
    for n, mask in enumerate((0o077, 0o022)):
        into = tmp_path / f"into{n}"
        into.mkdir()
        before = os.umask(mask)
        try:
            made.append(make_package(contents, SOURCE, tmp_path / f"work{n}", into))
        finally:
            os.umask(before)

    path = made[0]
    assert path.read_bytes() == made[1].read_bytes()
    told = subprocess.run(
        ["dpkg-deb", "--info", str(path)],  # noqa: S607 - Debian's own
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    listed = subprocess.run(
        ["dpkg-deb", "--contents", str(path)],  # noqa: S607 - Debian's own
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "Version: 0.9" in told
    assert "libxcb-cursor0" in told
    assert all(line.split()[1] == "root/root" for line in listed.splitlines())
    modes = {line.split()[5]: line.split()[0] for line in listed.splitlines()}
    assert modes["./usr/lib/kmonitor/kmonitor"] == "-rwxr-xr-x"
    assert modes["./usr/lib/kmonitor/_internal/part.so.1"] == "-rw-r--r--"


def test_the_man_page_names_every_command():
    page = (ROOT / "packaging" / "debian" / "kmonitor.1").read_text(encoding="utf-8")
    named = set(re.findall(r"[a-z-]{3,}", page.replace("\\fR", " ").replace("\\fB", " ")))

    assert set(command_line.SUBCOMMANDS) <= named


def test_the_man_page_names_every_option_of_the_window():
    page = (ROOT / "packaging" / "debian" / "kmonitor.1").read_text(encoding="utf-8")
    told = set(re.findall(r"^\\fB(--[a-z-]+)", page.replace(".B ", "\\fB"), re.MULTILINE))

    options = {f"--{name}" for name in inspect.signature(window).parameters} - {"--entry"}
    both_ways = {"--install-desktop-entry", "--remove-desktop-entry"}
    assert told == options | both_ways | {"--version"}


def test_software_centres_are_told_this_version(tmp_path: Path):
    text = metainfo(ROOT, "0.9", SOURCE)

    assert '<release version="0.9" date="1970-01-02"/>' in text
    assert '<launchable type="desktop-id">kmonitor.desktop</launchable>' in text
    if APPSTREAM is None:
        return
    path = tmp_path / "kmonitor.metainfo.xml"
    path.write_text(text, encoding="utf-8")
    told = subprocess.run(
        [APPSTREAM, "validate", "--no-net", "--no-color", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 0, told.stdout
