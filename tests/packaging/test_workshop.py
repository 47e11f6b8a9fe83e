"""The environment of a release knows which file each of its packages was installed from."""

import json
from pathlib import Path

from kmonitor_release.tools import Workshop


def test_the_files_of_a_workshop_are_those_that_pip_reported(tmp_path: Path):
    # Cut from reports of pip 23.2 and 22.3.
    now = {"hash": "sha256=aa", "hashes": {"sha256": "aa"}}
    archives = {"PySide6_Essentials": now, "msgspec": {"hash": "sha256=bb"}}
    told = [
        {
            "metadata": {"name": name},
            "download_info": {"url": "file:///w", "archive_info": archive},
        }
        for name, archive in archives.items()
    ]
    report = tmp_path / "kmonitor-release-files.json"
    report.write_text(json.dumps({"version": "1", "install": told}))

    files = Workshop(tmp_path / "bin" / "python", ()).files()

    assert files == {"pyside6-essentials": "sha256:aa", "msgspec": "sha256:bb"}
