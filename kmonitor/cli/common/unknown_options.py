"""Advice on an option that a command does not have: options of other hosts, words after `--`."""

from collections.abc import Mapping, Sequence
from typing import Final

from kmonitor.connect.ssh import BadAddress, checked_address

_ELSEWHERE: Final = ("--host", "--hub")

_LOCAL_ONLY: Final[Mapping[str, str]] = {
    "run": "runs a script",
    "demo": "runs a training",
    "checkpoints": "reads the files",
    "restore": "reads a file",
    "hub": "is about the hub",
    "purge": "removes files",
    "hosts": "is about the remembered hosts",
    "alerts": "is about the alerts",
    "keys mine": "is about the key",
}
"""Commands for the machine on which they are called, and what they do there."""

_ADDRESSED: Final = (("hosts", "add"), ("hosts", "remove"), ("hosts", "rename"))


def about_option(arguments: Sequence[str], option: str) -> tuple[str, str] | None:
    """Cause and remedy of an unknown option; None: nothing is known of it.

    Args:
        arguments: All words of the command line.
        option: The one that its command does not know.
    """
    # After `--` nothing is an option any more, and the parser is of another mind.
    if "--" in arguments and option in arguments[arguments.index("--") :]:
        return (
            f"{option} comes after --, where options are not read.",
            "Put options before it.",
        )
    if tuple(arguments[:2]) in _ADDRESSED and not option.startswith("--"):
        what = f'"{option}" is not a host name: it begins with a hyphen.'
        return what, "Write it as for ssh: gpu-01 or user@gpu-01."
    called = next((c for c in (" ".join(arguments[:2]), *arguments[:1]) if c in _LOCAL_ONLY), "")
    name = option.partition("=")[0]
    if name not in _ELSEWHERE or not called:
        return None
    at = next(at for at, argument in enumerate(arguments) if argument.partition("=")[0] == name)
    host = arguments[at].partition("=")[2] or "".join(arguments[at + 1 : at + 2])
    is_host = name == "--host" and _is_plain(host)
    what = f"kmonitor {called} {_LOCAL_ONLY[called]} of the machine that it runs on"
    remedy_command = f"ssh {host if is_host else 'HOST'} kmonitor {' '.join(arguments[:at])}"
    return f"{what}, and has no {name}.", f"Run it there: {remedy_command}"


def _is_plain(host: str) -> bool:
    try:
        return checked_address(host) == host
    except BadAddress:
        return False
