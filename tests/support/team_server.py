"""A real PostgreSQL server on a Unix socket, run by its own user, and databases of it."""

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.support.capabilities import postgres_program
from tests.support.waiting import DEADLINE_S, wait_until


class TeamServer:
    """One server; its superuser is `kmonitor`, who needs no password here.

    Attributes:
        folder: Its data, its socket and its log.
    """

    def __init__(self, *, is_durable: bool = False) -> None:
        """Make and start it. Args: `is_durable`: what is committed survives its machine too."""
        self._fsync = "on" if is_durable else "off"
        # The path of a socket is short, and the server's own user must be able to enter.
        self.folder = Path(tempfile.mkdtemp(prefix="km-pg-", dir="/tmp"))
        self._user, self._group = _own_user()
        if self._user is not None and self._group is not None:
            os.chown(self.folder, self._user, self._group)
        data = self.folder / "data"
        self._run(
            *("initdb", "-D", str(data), "-U", "kmonitor", "-A", "trust"),
            *("-E", "UTF8", "--locale=C.UTF-8", "--no-sync"),
        )
        (data / "pg_hba.conf").write_text(
            "local all kmonitor trust\nlocal all all scram-sha-256\n"
        )
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        """Start it and wait until it answers."""
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    *(postgres_program("postgres"), "-D", str(self.folder / "data")),
                    *("-k", str(self.folder), "-c", "listen_addresses="),
                    *(
                        "-c",
                        f"fsync={self._fsync}",
                        "-c",
                        "max_connections=40",
                        "-c",
                        "shared_buffers=16MB",
                    ),
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd="/",
                user=self._user,
                group=self._group,
            )
        wait_until(self._answers, what="PostgreSQL answers")

    def stop(self, *, at_once: bool = False) -> None:
        """End it; at once: as if its machine had died."""
        assert self._process is not None
        self._process.send_signal(signal.SIGQUIT if at_once else signal.SIGINT)
        self._process.wait(DEADLINE_S)

    def close(self) -> None:
        """End it and remove all that it had."""
        self.stop(at_once=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    def freeze(self) -> None:
        """Have it answer nothing, as a machine does that hangs; `thaw` ends that."""
        for each in self._processes():
            with contextlib.suppress(psutil.NoSuchProcess):  # of a connection that ended
                each.suspend()

    def thaw(self) -> None:
        """Let it go on."""
        for each in self._processes():
            with contextlib.suppress(psutil.NoSuchProcess):
                each.resume()

    def cut(self, database: str) -> None:
        """End every connection to a database."""
        self.ask(
            f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{database}'"  # noqa: S608
        )

    def _processes(self) -> list[psutil.Process]:
        assert self._process is not None
        main = psutil.Process(self._process.pid)
        return [main, *main.children(recursive=True)]

    def url(self, database: str, user: str = "kmonitor", password: str = "") -> str:
        """The URL of a database."""
        secret = f":{password}" if password else ""
        host = str(self.folder).replace("/", "%2F")
        return f"postgresql://{user}{secret}@{host}/{database}"

    def ask(self, statement: str, database: str = "postgres") -> list[tuple[object, ...]]:
        """Carry out a statement as the superuser; its rows, if it has any."""
        import psycopg  # noqa: PLC0415 - fixtures of this file are known where it is not there

        with psycopg.connect(self.url(database), autocommit=True) as connection:
            found = connection.execute(statement.encode())
            return found.fetchall() if found.description else []

    def _answers(self) -> bool:
        status = [postgres_program("pg_isready"), "-q", "-h", str(self.folder)]
        return subprocess.run(status, check=False, timeout=DEADLINE_S).returncode == 0

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [postgres_program(program), *arguments],
            check=True,
            capture_output=True,
            timeout=2 * DEADLINE_S,
            cwd="/",
            user=self._user,
            group=self._group,
        )


def database_of(url: str) -> str:
    """Name of the database that a URL names."""
    return url.rpartition("/")[2]


def _own_user() -> tuple[int, int] | tuple[None, None]:
    """User and group of the server, which refuses to be root; None: who runs the tests."""
    if os.getuid() != 0:
        return None, None
    for name in ("postgres", "nobody"):
        found = next((each for each in pwd.getpwall() if each.pw_name == name), None)
        if found is not None:
            return found.pw_uid, found.pw_gid
    raise LookupError("no user for the server: neither postgres nor nobody")


@pytest.fixture(scope="session")
def team_server() -> Iterator[TeamServer]:
    """A server for all tests of this session."""
    server = TeamServer()
    yield server
    server.close()


@pytest.fixture
def team_url(team_server: TeamServer) -> str:
    """The URL of a database in which nothing of kmonitor's is."""
    if not team_server.ask("SELECT 1 FROM pg_database WHERE datname = 'team'"):
        team_server.ask("CREATE DATABASE team")
    # A tenth of the time that another database takes.
    team_server.cut("team")
    team_server.ask("DROP SCHEMA IF EXISTS kmonitor CASCADE", "team")
    return team_server.url("team")
