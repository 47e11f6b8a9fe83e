"""Ports of this machine for servers that tests and benchmarks start."""

import socket
from collections.abc import Iterator

import pytest


def free_port() -> int:
    """One on which no one listens now; another may take it before it is used."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def refusing_url() -> Iterator[str]:
    """Address of a port that is taken and on which no one listens: it refuses for sure."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"
