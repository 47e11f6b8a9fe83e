"""A database of another version is refused and left alone; one that cannot be made is none."""

import sqlite3
from pathlib import Path

import pytest

from kmonitor.hub.store import schema
from kmonitor.hub.store.schema import OtherDatabase, open_writer


@pytest.mark.parametrize("version", [-1, 2, 3, 2**31 - 1])
def test_a_database_of_another_version_is_refused(tmp_path: Path, version: int):
    path = tmp_path / "hub.sqlite3"
    connection = open_writer(path)
    connection.execute(f"PRAGMA user_version={version:d}")
    connection.close()
    before = path.read_bytes()

    with pytest.raises(OtherDatabase, match="another version") as caught:
        open_writer(path)

    assert caught.value.version == version
    assert path.read_bytes() == before


def test_tables_that_cannot_be_made_leave_an_empty_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "hub.sqlite3"
    with monkeypatch.context() as failing:
        failing.setattr(schema, "TABLES", (*schema.TABLES, "NO SQL"))
        with pytest.raises(sqlite3.OperationalError):
            open_writer(path)

    connection = open_writer(path)

    assert connection.execute("SELECT count(*) FROM events").fetchone() == (0,)
    connection.close()
