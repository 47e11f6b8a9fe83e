"""A database of an older release is brought forward, after a copy of it was kept."""

import sqlite3
from pathlib import Path

import pytest

from kmonitor.hub.store import schema
from kmonitor.hub.store.schema import NewerDatabase, open_writer


@pytest.fixture
def later_release(monkeypatch: pytest.MonkeyPatch) -> None:
    """A release whose schema is one step further."""
    steps = {**schema._MIGRATIONS, schema.SCHEMA_VERSION + 1: ("CREATE TABLE more (x)",)}
    monkeypatch.setattr(schema, "_MIGRATIONS", steps)
    monkeypatch.setattr(schema, "SCHEMA_VERSION", schema.SCHEMA_VERSION + 1)


def tables(connection: sqlite3.Connection) -> set[str]:
    found = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    return {name for (name,) in found}


def test_an_older_database_keeps_its_rows_and_a_backup(
    tmp_path: Path, request: pytest.FixtureRequest
):
    path = tmp_path / "hub.sqlite3"
    old = open_writer(path)
    old.execute("INSERT INTO facts VALUES ('hub', 'abc')")
    old.close()
    request.getfixturevalue("later_release")

    new = open_writer(path)

    assert "more" in tables(new)
    assert new.execute("SELECT value FROM facts").fetchall() == [("abc",)]
    assert new.execute("PRAGMA user_version").fetchone() == (schema.SCHEMA_VERSION,)
    new.close()
    backup = sqlite3.connect(tmp_path / f"hub.sqlite3.schema-{schema.SCHEMA_VERSION - 1}")
    assert backup.execute("SELECT value FROM facts").fetchall() == [("abc",)]
    assert "more" not in tables(backup)
    backup.close()


def test_a_migration_that_fails_changes_nothing(
    tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "hub.sqlite3"
    open_writer(path).close()
    request.getfixturevalue("later_release")
    steps = {**schema._MIGRATIONS, schema.SCHEMA_VERSION: ("CREATE TABLE more (x)", "NO SQL")}
    monkeypatch.setattr(schema, "_MIGRATIONS", steps)

    with pytest.raises(sqlite3.OperationalError):
        open_writer(path)

    database = sqlite3.connect(path)
    assert "more" not in tables(database)
    assert database.execute("PRAGMA user_version").fetchone() == (schema.SCHEMA_VERSION - 1,)
    database.close()


@pytest.mark.usefixtures("later_release")
def test_a_database_of_the_future_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "hub.sqlite3"
    open_writer(path).close()
    monkeypatch.setattr(schema, "SCHEMA_VERSION", 3)

    with pytest.raises(NewerDatabase) as caught:
        open_writer(path)

    assert caught.value.version == 4


def test_a_database_of_the_first_release_gets_room_for_packed_samples(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "hub.sqlite3"
    with monkeypatch.context() as first_release:
        first_release.setattr(schema, "SCHEMA_VERSION", 1)
        old = open_writer(path)
    assert "sample_blocks" not in tables(old)
    old.execute("INSERT INTO events VALUES (1, 1, 1, 0.0, 0.0, 'sample', x'80')")
    old.close()

    new = open_writer(path)

    assert "sample_blocks" in tables(new)
    assert new.execute("SELECT count(*) FROM events").fetchone() == (1,)
    new.close()
    assert (tmp_path / "hub.sqlite3.schema-1").exists()
