"""A team's database that cannot be used: what is wrong and what to do, and never a password."""

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote

import pytest

from kmonitor.base.errors import UserError
from kmonitor.cli.doctor.command import examine_store
from kmonitor.cli.main import main
from kmonitor.hub.store.postgresql.server import Address, AddressUnreadable
from kmonitor.hub.store.postgresql.team_database import SCHEMA_VERSION
from kmonitor.hub.store.schema import OtherDatabase
from kmonitor.hub.store.store_choice import (
    StoreRefused,
    check_store,
    shown_store,
    stored_store,
    try_store,
    write_store,
)
from kmonitor_agent.wire.local.folders import Folders
from tests.support.hub_parts import HubParts
from tests.support.live_hub import LiveHub
from tests.support.team_server import TeamServer, database_of

pytestmark = pytest.mark.psycopg

SECRET = "not-to-be-seen"  # noqa: S105


@pytest.fixture
def member(team_server: TeamServer) -> str:
    """A role that has a password and no rights."""
    if not team_server.ask("SELECT 1 FROM pg_roles WHERE rolname = 'member'"):
        team_server.ask(f"CREATE ROLE member LOGIN PASSWORD '{SECRET}'")
    return "member"


def refusal(url: str) -> UserError:
    with pytest.raises(UserError) as caught:
        try_store(url)
    assert SECRET not in str(caught.value)
    return caught.value


def test_a_server_that_is_away(tmp_path: Path):
    told = refusal(f"postgresql://{str(tmp_path).replace('/', '%2F')}/team")

    assert told.what.endswith("No such file or directory.")
    assert "server is running" in told.remedy


def test_a_database_that_is_not_there(team_server: TeamServer):
    assert 'database "none" does not exist' in refusal(team_server.url("none")).what


def test_a_password_that_is_wrong_or_missing(team_server: TeamServer, team_url: str, member: str):
    name = database_of(team_url)

    wrong = refusal(team_server.url(name, member, "wrong"))
    missing = refusal(team_server.url(name, member))

    assert "rejected the password" in wrong.what
    assert "none is set" in missing.what
    assert ".pgpass" in wrong.remedy
    assert ".pgpass" in missing.remedy


def test_a_password_in_a_file_of_libpq_is_found(
    team_server: TeamServer,
    team_url: str,
    member: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    name = database_of(team_url)
    team_server.ask("CREATE SCHEMA kmonitor AUTHORIZATION member", name)
    passwords = tmp_path / "pgpass"
    passwords.write_text(f"*:*:{name}:member:{SECRET}\n")
    passwords.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(passwords))
    service = tmp_path / "services"
    service.write_text(f"[team]\nhost={team_server.folder}\ndbname={name}\nuser=member\n")
    monkeypatch.setenv("PGSERVICEFILE", str(service))

    parts = HubParts(tmp_path, "postgresql://?service=team")

    parts.started_run(pid=1)
    assert parts.event_log.commit()
    parts.database.close()
    owner = "SELECT DISTINCT tableowner FROM pg_tables WHERE schemaname = 'kmonitor'"
    assert team_server.ask(owner, name) == [("member",)]


def test_no_right_to_make_tables(team_server: TeamServer, team_url: str, member: str):
    told = refusal(team_server.url(database_of(team_url), member, SECRET))

    assert "permission denied" in told.what
    assert "CREATE SCHEMA kmonitor AUTHORIZATION" in told.remedy


def test_tables_of_another_version_are_not_touched(team_server: TeamServer, team_url: str):
    try_store(team_url)
    team_server.ask("UPDATE kmonitor.about SET version = 99", database_of(team_url))

    told = refusal(team_url)

    assert isinstance(told, OtherDatabase)
    assert told.version == 99
    assert "Install that version" in told.remedy


def test_hubs_that_start_at_once_make_the_tables_once(team_server: TeamServer, team_url: str):
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(try_store, [team_url] * 4))

    assert team_server.ask("SELECT version FROM kmonitor.about", database_of(team_url)) == [
        (SCHEMA_VERSION,)
    ]


def test_a_database_that_cannot_hold_all_texts(team_server: TeamServer):
    team_server.ask(
        "CREATE DATABASE latin ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
    )

    assert "LATIN1" in refusal(team_server.url("latin")).what


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delitem(sys.modules, "kmonitor.hub.store.postgresql.server")
    monkeypatch.setitem(sys.modules, "psycopg", None)

    with pytest.raises(StoreRefused) as caught:
        check_store("postgresql://db/team")

    assert (
        'in your clone of kmonitor: python -m pip install ".[postgresql]"' in caught.value.remedy
    )


@pytest.mark.parametrize("url", ["sqlite:///x/y", "/x/y", ""])
def test_what_is_no_team_database_is_refused(url: str):
    with pytest.raises(StoreRefused, match="postgresql://"):
        check_store(url)


@pytest.mark.promise(9)
@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://me:{SECRET}@db:5433/team",
        f"postgresql://me@db:5433/team?password={SECRET}&sslpassword={SECRET}",
    ],
)
def test_a_password_is_never_shown(url: str):
    address = Address.read(url)

    assert shown_store(url) == address.shown == "postgresql://me@db:5433/team"
    assert SECRET not in repr(address)
    with pytest.raises(StoreRefused, match="process list") as caught:
        check_store(url, is_public=True)
    assert SECRET not in str(caught.value)


@pytest.mark.promise(9)
def test_a_password_on_a_command_line_is_refused_before_a_library_is_looked_for(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setitem(sys.modules, "kmonitor.hub.store.postgresql.server", None)

    with pytest.raises(StoreRefused, match=r"(?s)process list.*service file"):
        check_store(f"postgresql://me:{SECRET}@db/team", is_public=True)


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://me:{SECRET}/x@db/team",
        f"postgresql://me:12/{SECRET}@db/team",
        f"postgresql://me:x@{SECRET}@db/team",
    ],
)
def test_of_an_address_that_cannot_be_read_nothing_is_repeated(url: str):
    with pytest.raises(AddressUnreadable) as caught:
        Address.read(url)

    assert SECRET not in str(caught.value)
    assert caught.value.__cause__ is None


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """Output of a command."""
    main(list(words))
    out, err = capsys.readouterr()
    return out + err


@pytest.mark.promise(9)
@pytest.mark.slow
def test_a_hub_and_all_that_asks_it_keep_the_password_to_themselves(
    idle_hub: LiveHub,
    folders: Folders,
    team_server: TeamServer,
    team_url: str,
    member: str,
    capsys: pytest.CaptureFixture[str],
):
    name = database_of(team_url)
    team_server.ask("CREATE SCHEMA kmonitor AUTHORIZATION member", name)
    write_store(folders, team_server.url(name, member, SECRET))

    idle_hub.start()
    store, status = said(capsys, "hub", "store"), said(capsys, "hub", "status", "--json")
    (finding,) = examine_store(folders)

    shown = f"postgresql://member@{team_server.folder}/{name}"
    assert shown in store
    assert (finding.state, shown in finding.found) == ("ok", True)
    assert not any(SECRET in each for each in (store, status, str(finding)))
    assert not any(SECRET in log.read_text() for log in folders.logs.iterdir())
    titles = Path(f"/proc/{idle_hub.process.pid}/cmdline").read_bytes()
    assert SECRET.encode() not in titles
    assert (folders.settings / "store.json").stat().st_mode & 0o777 == 0o600
    assert team_server.ask("SELECT count(*) FROM kmonitor.hubs", name) == [(1,)]


def test_where_history_is_kept_is_tried_and_set_from_the_command_line(
    folders: Folders, team_url: str, capsys: pytest.CaptureFixture[str]
):
    here = said(capsys, "hub", "store")
    refused = said(capsys, "hub", "store", f"postgresql://me:{SECRET}@db/team")
    there = said(capsys, "hub", "store", team_url)

    assert here == f"History is kept in: {folders.database} (here)\n"
    assert "process list" in refused
    assert SECRET not in refused
    assert stored_store(folders) == team_url
    assert there.startswith("History is kept in: postgresql://kmonitor@")
    assert main(["hub", "store", "here"]) == 0
    assert stored_store(folders) == ""


def test_the_doctor_tells_of_a_database_that_is_away(folders: Folders, tmp_path: Path):
    assert list(examine_store(folders)) == []
    gone = tmp_path / "gone"
    write_store(folders, f"postgresql://me@{quote(str(gone), safe='')}/team")

    (finding,) = examine_store(folders)

    assert finding.state == "bad"
    assert str(gone) in finding.found


def test_a_setting_that_cannot_be_read_begins_no_other_history(folders: Folders):
    folders.settings.mkdir(parents=True)
    (folders.settings / "store.json").write_text("{")

    with pytest.raises(StoreRefused, match="kmonitor hub store"):
        stored_store(folders)
