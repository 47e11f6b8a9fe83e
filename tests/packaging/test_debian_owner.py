"""A packed library gets the version of the package of the system that it is a copy of."""

import hashlib
import platform
from pathlib import Path

import pytest
from kmonitor_release.debian_owner import Owner, owner_of
from kmonitor_release.packed_libraries import packed_libraries

PACKED = b"as packed"

SHA256 = hashlib.sha256(PACKED).hexdigest()


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A system with two libraries of the same name, each of a package; the second is packed."""
    for place, content in (("other", b"another"), ("lib", PACKED)):
        (tmp_path / place).mkdir()
        (tmp_path / place / "libz.so.1").write_bytes(content)
    tool = tmp_path / "bin" / "dpkg-query"
    tool.parent.mkdir()
    tool.write_text(
        f"""#!/bin/sh
case "$*" in
    "--search */libz.so.1")
        echo "diversion by libz from: /lib/libz.so.1"
        echo "odd-z: {tmp_path}/other/libz.so.1"
        echo "zlib1g:amd64, z-more: {tmp_path}/lib/libz.so.1" ;;
    "--show "*" zlib1g:amd64") printf 'zlib1g 1:1.2.13+b1 amd64' ;;
    *) echo "no path found"; exit 1 ;;
esac
"""
    )
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}:/usr/bin:/bin")
    monkeypatch.setattr(platform, "freedesktop_os_release", lambda: {"ID": "debian"})
    return tmp_path


def test_the_package_with_the_very_file_is_the_owner(system: Path):
    url = "pkg:deb/debian/zlib1g@1:1.2.13%2Bb1?arch=amd64"

    assert owner_of("libz.so.1", SHA256) == Owner("1:1.2.13+b1", url)
    (system / "lib" / "libz.so.1").write_bytes(b"mended since")
    assert owner_of("libz.so.1", SHA256) is None


def test_a_library_of_no_package_has_no_owner(system: Path, monkeypatch: pytest.MonkeyPatch):
    assert owner_of("libssl.so.3", SHA256) is None
    monkeypatch.setenv("PATH", str(system / "empty"))
    assert owner_of("libz.so.1", SHA256) is None


def test_versions_are_told_of_what_came_with_python_where_they_can_be(system: Path):
    inner = system / "app" / "_internal"
    inner.mkdir(parents=True)
    for name in ("libz.so.1", "libssl.so.3", "libpython3.11.so.1.0"):
        (inner / name).write_bytes(PACKED)

    versions = {one.name: one.version for one in packed_libraries(system / "app")}
    assert versions == {
        "libz.so.1": "1:1.2.13+b1",
        "libssl.so.3": None,
        "libpython3.11.so.1.0": platform.python_version(),
    }
