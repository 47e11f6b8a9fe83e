"""Errors of reaching a host's hub, in the user's terms, from the output of ssh and the host."""

import re
from collections.abc import Sequence
from typing import Final, Literal

from kmonitor.base.errors import UserError

HostErrorCode = Literal[
    "host_unknown",
    "key_refused",
    "host_key_changed",
    "host_key_unknown",
    "refused",
    "silent",
    "settings",
    "forwarding",
    "no_kmonitor",
    "too_old",
    "too_new",
    "disabled",
    "hub_failed",
    "no_hub",
    "broken",
]
"""Error code for programs; `HostError` has the text."""

_TRANSIENT: Final[frozenset[HostErrorCode]] = frozenset(
    ("host_unknown", "refused", "silent", "no_hub", "hub_failed", "broken")
)
"""Errors that may pass by themselves.

All others wait for the user: servers lock out clients that keep trying.
"""

_LONGEST_OUTPUT: Final = 300
_INSTALL: Final = "python3 -m pip install ./kmonitor"
"""Command from beside the clone: from inside it, "." would read as the sentence's full stop."""

_CLOSED_BY_UNKNOWN: Final = "closed by UNKNOWN port"
"""Last message of ssh when its jump host or proxy has ended."""

_PAST_JUMP: Final = "stdio forwarding failed"
"""Further message of ssh when the jump host was reached, but not the host behind it."""


class HostError(UserError):
    """A host's hub is not reached.

    Attributes:
        code: Kind of the error.
    """

    def __init__(self, code: HostErrorCode, address: str, what: str, remedy: str = "") -> None:
        super().__init__(what, remedy)
        self.code: HostErrorCode = code
        self.address = address

    @property
    def is_transient(self) -> bool:
        """True if another attempt may succeed without the user."""
        return self.code in _TRANSIENT


_PATTERNS: Final[tuple[tuple[str, HostErrorCode], ...]] = (
    (r"REMOTE HOST IDENTIFICATION HAS CHANGED", "host_key_changed"),
    (r"Host key verification failed|host key is known for", "host_key_unknown"),
    (
        r"Permission denied|Too many authentication failures|No supported authentication",
        "key_refused",
    ),
    (r"Could not resolve hostname|Name or service not known", "host_unknown"),
    (r"Bad configuration option|Bad owner or permissions|terminating, \d+ bad config", "settings"),
    (r"timed out|No route to host|Network is unreachable|not responding", "silent"),
    (r"Connection refused", "refused"),
    (
        r"administratively prohibited|Could not request local forwarding|open failed: unknown",
        "forwarding",
    ),
    (r"open failed: connect failed", "no_hub"),
)


def ssh_error(address: str, output: str) -> HostError:
    """Return the error for the messages of ssh.

    Args:
        output: Standard error of ssh.
    """
    code: HostErrorCode = "broken"
    for pattern, meant in reversed(_PATTERNS):
        if re.search(pattern, output):
            code = meant
    what, remedy = _message_and_remedy(code, address)
    if _CLOSED_BY_UNKNOWN in output and _PAST_JUMP not in output:
        # The words are about the host in between: its key, its name, its silence.
        what, remedy = _message_and_remedy("on the way", address)
        first = _last_line(output.partition("\n")[0])
        return HostError(code, address, f"{what} ssh says: {first}", remedy)
    last = _last_line(output)
    if code in {"broken", "settings"} and last:
        what = f"{what} ssh says: {last}"
    return HostError(code, address, what, remedy)


def not_found(address: str, tried: Sequence[str]) -> HostError:
    """Error: kmonitor was not found on the host.

    Args:
        tried: Descriptions of the searched places.
    """
    tried_paths = "; ".join(tried)
    return HostError(
        "no_kmonitor",
        address,
        f"kmonitor was not found on {address}. Tried: {tried_paths}.",
        f"Install it there from a clone: {_INSTALL}   If it is in an environment that is not"
        f" activated at login, pass its path: kmonitor hosts add {address} --command"
        " /path/to/bin/kmonitor",
    )


def login_ended(address: str, status: int, output: str) -> HostError:
    """Error: the key was accepted, but no command was run (no shell, or start-up files end it).

    Args:
        status: Exit status of the login.
    """
    last = _last_line(output)
    detail = f" Its output: {last}" if last else ""
    return HostError(
        "no_kmonitor",
        address,
        (
            f"The login shell on {address} exited before it ran the command (exit status "
            f"{status}).{detail}"
        ),
        f"Its shell must be able to run commands; try: ssh {address} echo works",
    )


def hub_silent(address: str, seconds: float) -> HostError:
    """Error: the host was reached, but kmonitor did not respond within `seconds` seconds."""
    return HostError(
        "silent",
        address,
        f"Connected to {address}, but kmonitor there did not respond within {seconds:g} s.",
        f"Run this to see why: ssh {address} kmonitor hub status   Its disk or network may not"
        f" be responding.",
    )


def route_lost(address: str, remedy: str) -> HostError:
    """Error: the connection to a host's hub was lost, with a remedy."""
    what = f"The connection to {address} was lost, or its hub stopped."
    return HostError("broken", address, what, remedy)


def no_forwarding(address: str) -> HostError:
    """Error: the hub replies on its host, but ssh may not forward its socket."""
    return HostError("forwarding", address, *_message_and_remedy("forwarding", address))


def too_old(address: str, version: str) -> HostError:
    """Error: the hub is too old to share a protocol version with this kmonitor.

    Args:
        version: kmonitor's version on the host; empty: too old to report one.
    """
    which = f"kmonitor {version}" if version else "The kmonitor installation"
    return HostError(
        "too_old",
        address,
        f"{which} on {address} is too old to work with the version on this machine.",
        f"Install this version there from a clone: {_INSTALL}",
    )


def too_new(address: str, version: str) -> HostError:
    """Error: the hub has only protocol versions newer than those of this kmonitor."""
    return HostError(
        "too_new",
        address,
        f"kmonitor {version} on {address} is too new to work with the version on this machine.",
        "Install that version here.",
    )


def _message_and_remedy(
    code: HostErrorCode | Literal["on the way"], address: str
) -> tuple[str, str]:
    by_hand = f"Try connecting in a terminal; ssh must connect without a prompt: ssh {address}"
    texts: dict[str, tuple[str, str]] = {
        "host_unknown": (
            f"Unknown host: {address}.",
            "Check the spelling in ~/.ssh/config, and that this machine is on its network.",
        ),
        "key_refused": (
            f"{address} did not accept your key.",
            f"Copy your key to it: ssh-copy-id {address}   Or unlock the key: ssh-add",
        ),
        "host_key_changed": (
            (
                f"The host key of {address} has changed: the host was reinstalled, or a"
                " different machine is responding under its name."
            ),
            (
                "Ask its administrator whether it was reinstalled. If it was, follow the"
                " instructions printed"
                f" by: ssh {address}"
            ),
        ),
        "host_key_unknown": (
            f"The host key of {address} is not known yet.",
            f"Check and accept it once in a terminal: ssh {address}",
        ),
        "settings": ("ssh reports an error in its configuration.", "See ~/.ssh/config."),
        "silent": (
            f"{address} is not responding.",
            "It may be off, asleep, or on a network that this machine cannot reach.",
        ),
        "refused": (
            f"{address} refused the ssh connection.",
            "Its ssh server is not running, or listens on another port (Port in ~/.ssh/config).",
        ),
        "forwarding": (
            f"{address} does not allow socket forwarding.",
            "Set AllowStreamLocalForwarding yes in its sshd_config.",
        ),
        "on the way": (
            f"The jump host or proxy of {address} failed (ProxyJump in ~/.ssh/config).",
            by_hand,
        ),
        "no_hub": (f"The hub on {address} has stopped.", ""),
    }
    return texts.get(code, (f"The connection to {address} was lost.", by_hand))


def _last_line(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    shown = lines[-1] if lines else ""
    return "".join(c for c in shown if c.isprintable())[:_LONGEST_OUTPUT]
