"""System libraries are listed by soname, for this machine and the requested purpose."""

from pathlib import Path

import pytest
from kmonitor_setup import libraries
from kmonitor_setup.libraries import (
    Needed,
    missing_of,
    needed_libraries,
    purposes_for,
    sonames_in,
)

LISTING = """\
3 libs found in cache `/etc/ld.so.cache'
\tlibGL.so.1 (libc6,x86-64) => /lib/x86_64-linux-gnu/libGL.so.1
\tlibEGL.so.1 (libc6,AArch64) => /lib/aarch64-linux-gnu/libEGL.so.1
\tlibdbus-1.so.3 (libc6) => /lib/i386-linux-gnu/libdbus-1.so.3
"""


def test_only_libraries_that_this_machine_can_load_count():
    assert sonames_in(LISTING, "x86_64") == {"libGL.so.1"}
    assert sonames_in(LISTING, "aarch64") == {"libEGL.so.1"}


def test_without_a_screen_no_screen_library_is_asked_for():
    assert purposes_for(testing=False, environ={}) == {"window"}


def test_each_kind_of_screen_adds_its_own_libraries():
    both = purposes_for(testing=False, environ={"DISPLAY": ":0", "WAYLAND_DISPLAY": "wayland-0"})

    assert both == {"window", "x11", "wayland"}


def test_the_tests_need_a_screen_of_their_own():
    assert purposes_for(testing=True, environ={}) == {"window", "x11", "tests"}


def test_a_library_that_is_nowhere_is_missing_and_one_of_the_c_library_is_not():
    gone = Needed("libkmonitor-is-not-there.so.7", "none", "window", "soname")
    there = Needed("libc.so.6", "libc6", "window", "soname")

    assert missing_of([gone, there], {"window"}) == [gone]


def test_a_font_is_found_by_its_file_in_any_folder_of_fonts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(libraries, "FONT_PLACES", (tmp_path / "none", tmp_path))
    font = Needed("some.ttc", "fonts-some", "tests", "font")

    assert missing_of([font], {"tests"}) == [font]

    (tmp_path / "truetype").mkdir()
    (tmp_path / "truetype" / "some.ttc").touch()
    assert missing_of([font], {"tests"}) == []


def test_what_no_purpose_asks_for_is_not_missing():
    gone = Needed("no-such-program-of-ours", "none", "tests", "program")

    assert missing_of([gone], {"window"}) == []
    assert missing_of([gone], {"tests"}) == [gone]


def test_every_row_of_the_table_names_a_package_and_a_soname_with_its_version():
    rows = needed_libraries()

    assert {row.purpose for row in rows} == {"window", "x11", "wayland", "tests"}
    assert all(row.package for row in rows)
    assert all(".so." in row.name for row in rows if row.kind == "soname")


def test_a_table_of_ones_own_is_read(tmp_path: Path):
    table = tmp_path / "table.toml"
    table.write_text('[[needed]]\nprogram = "sh"\npackage = "dash"\nfor = "tests"\n')

    assert needed_libraries(table) == [Needed("sh", "dash", "tests", "program")]
