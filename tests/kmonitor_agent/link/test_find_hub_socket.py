"""A hub's socket is trusted only where no one else could have put it."""

import os
import socket
from pathlib import Path

import pytest

from kmonitor_agent.link.hub_connection import find_hub_socket
from kmonitor_agent.wire.local.private_files import NotPrivate, make_private_folder


@pytest.fixture
def path(tmp_path: Path) -> Path:
    folder = tmp_path / "r"
    make_private_folder(folder)
    return folder / "agents.sock"


def _bind(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(path))


def test_nothing_there_is_nothing(path: Path):
    assert find_hub_socket(path) is None
    assert find_hub_socket(path.parent / "gone" / "agents.sock") is None


def test_a_socket_is_seen_and_told_from_its_successor(path: Path):
    _bind(path)
    first = find_hub_socket(path)

    assert first is not None
    assert find_hub_socket(path) == first

    other = path.with_name("other")
    _bind(other)
    other.replace(path)
    assert find_hub_socket(path) not in {None, first}


def test_a_folder_that_others_may_enter_is_not_used(path: Path):
    _bind(path)
    path.parent.chmod(0o755)

    with pytest.raises(NotPrivate):
        find_hub_socket(path)


def test_what_is_no_socket_is_not_used(path: Path):
    path.touch()

    with pytest.raises(NotPrivate, match="not a socket"):
        find_hub_socket(path)


def test_somebody_elses_socket_is_not_used(path: Path, monkeypatch: pytest.MonkeyPatch):
    _bind(path)
    real = os.getuid()
    # The folder's check comes first, the socket's second.
    answers = iter([real])
    monkeypatch.setattr(os, "getuid", lambda: next(answers, real + 1))
    path_owner = f"user ID {real}"

    with pytest.raises(NotPrivate, match=path_owner):
        find_hub_socket(path)
