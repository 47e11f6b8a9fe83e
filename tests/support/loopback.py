"""Ports of this machine for servers that tests and benchmarks start."""

import socket


def free_port() -> int:
    """One on which nobody listens now; another may take it before it is used."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
