"""The hub on another host: found over ssh, and started there when none replies."""

import shlex
import subprocess
import threading
import time
from typing import Final

import msgspec

from kmonitor.base.errors import UserError
from kmonitor.connect.host_errors import (
    HostError,
    hub_silent,
    login_ended,
    not_found,
    ssh_error,
    too_new,
    too_old,
)
from kmonitor.connect.ssh import (
    checked_address,
    is_forwardable,
    remote_arguments,
    ssh_environment,
)
from kmonitor_agent.wire.local.interpreter_record import LAUNCHER_BYTES
from kmonitor_agent.wire.messages.fields import MINOR_VERSIONS, Count, Name, Text

_ANSWER_S: Final = 40.0
_TRY_S: Final = 30
"""Seconds after which a silent kmonitor on the host is ended, if the host has `timeout`."""

_POLL_S: Final = 0.02
_SSH_FAILED: Final = 255
_USAGE_STATUS: Final = "2"
"""Exit status of a kmonitor that does not know `hub ensure`."""

_TIMED_OUT: Final = "124"
"""Exit status of `timeout` when the time was up."""

_MOST_OUTPUT: Final = 256 * 1024
_MARK: Final = "kmonitor-"

# One line for any login shell: it has no single quote, exclamation mark or line end. Noise of the
# shell's start-up files is recognised by the marks. A shell without a terminal enters no
# environment, hence the record that each agent's start leaves behind.
_SCRIPT: Final = (
    "try() { w=$1; shift; "
    'o=$($t "$@" hub ensure --json </dev/null); s=$?; '
    'case $o in *{*}*) printf "%s %s %s" kmonitor-said "$w" "$o"; echo; exit 0;; esac; '
    'printf "%s %s %s %s" kmonitor-tried "$w" "$s" "$*"; echo; }; '
    # A command that hangs there, on a dead network disk for example, must not stay when nobody
    # waits for it.
    f't=; timeout 1 true 2>/dev/null && t="timeout {_TRY_S}"; '
    "k=${XDG_STATE_HOME:-$HOME/.local/state}/kmonitor; "
    '[ -d "$HOME/Library/Application Support" ] && '
    '[ "$(uname -s)" = Darwin ] && k="$HOME/Library/Application Support/kmonitor"; '
    "k=${KMONITOR_HOME:-$k}; l=; "
    # Programs that another user may have written are not run: the rules of private_folders in
    # the host's own words. `ls -ldn` of POSIX: mode, links, owner, group.
    "u=$(id -u); g=; "
    '[ "$(id -gn)" = "$(id -un)" ] && g=$(id -g); '
    'own() { set -- $(ls -ldn "$1" 2>/dev/null); [ "$3" = "$u" ] || return 1; '
    "case $1 in ????????w*) return 1;; ?????w*) "
    '[ "$4" = 0 ] || [ "$4" = "$g" ] || return 1;; esac; }; '
    'way() { set -- $(ls -ldn "$1" 2>/dev/null); [ "$3" = "$u" ] || [ "$3" = 0 ] || return 1; '
    "case $1 in ?????????[tT]*) ;; ????????w*) return 1;; esac; }; "
    'c=$(cd "$k" 2>/dev/null && pwd -P); d=$c; '
    'if [ -n "$c" ]; then own "$c" || d=; '
    'while case $d in ""|/) false;; esac; do d=${d%/*}; d=${d:-/}; way "$d" || d=; done; '
    '[ "$d" ] || { printf "kmonitor-tried launcher unsafe %s" "$k"; echo; c=; l=unsafe; }; fi; '
    'if [ -n "$c" ]; then for f in "$c/launcher-$(uname -n).json" "$c"/launcher-*.json; do '
    '[ -f "$f" ] && [ -r "$f" ] || continue; '
    'o=; [ -L "$f" ] || { own "$f" && o=1; }; '
    '[ "$o" ] || { printf "kmonitor-tried launcher unsafe %s" "$f"; echo; l=unsafe; continue; }; '
    f'r=$(head -c {LAUNCHER_BYTES} "$f"); '
    'p=${r#*\\"python\\":\\"}; p=${p%%\\"*}; [ "$p" = "$l" ] && continue; l=$p; '
    'case $p in /*) if [ -x "$p" ]; then try launcher "$p" -m kmonitor; '
    'else printf "kmonitor-tried launcher gone %s" "$p"; echo; fi;; '
    '*) printf "kmonitor-tried launcher damaged %s" "$f"; echo;; esac; done; fi; '
    '[ -n "$l" ] || echo kmonitor-tried launcher none; '
    "PATH=$PATH:$HOME/.local/bin; export PATH; "
    "if command -v kmonitor >/dev/null; then try path kmonitor; "
    "else echo kmonitor-tried path none; fi; "
    'set -f; if [ -n "$1" ]; then try command $1; fi; echo kmonitor-none'
)

_UNQUOTABLE: Final = frozenset("'\"`\\!\n\r\0")
"""Characters that login shells quote in different ways; no command needs them."""


class RemoteHub(msgspec.Struct, frozen=True):
    """Output of `kmonitor hub ensure --json`; all fields are about the host.

    Attributes:
        socket: Absolute path of the view socket.
        version: kmonitor's version.
        pid: Process id of the hub.
        host: The host's own name.
        hub: The hub's id.
        python: Interpreter that has kmonitor.
        protocol: Oldest and newest minor version of the protocol that the hub speaks.
        found_by: How kmonitor was found: "launcher" (the record that each training leaves),
            "path" or "command" (the command remembered for the host).
    """

    socket: Text
    version: Name = ""
    pid: Count = 0
    host: Name = ""
    hub: Name = ""
    python: Text = ""
    protocol: tuple[Count, Count] = (1, 1)
    found_by: Name = ""


class RemoteRefusal(msgspec.Struct, frozen=True):
    """Output of `kmonitor hub ensure --json` when there is no hub.

    Attributes:
        error: "disabled" or "failed".
        what: Message on the failure on the host.
        remedy: Advice for the user on the host.
    """

    error: Name
    what: Text = ""
    remedy: Text = ""


class BadCommand(UserError):
    """A command for a host that cannot be passed to every login shell."""

    def __init__(self, command: str) -> None:
        super().__init__(
            f"{command!r} cannot be run over ssh.",
            "Use a path and plain words, without quotes, exclamation marks or backslashes.",
        )


class ConnectCancelled(Exception):
    """The requester has cancelled the connection."""


def checked_command(command: str) -> str:
    """Check a command that is to be remembered for a host. Raises: `BadCommand`."""
    command = command.strip()
    if _UNQUOTABLE & set(command) or not command.isprintable() or command.startswith("-"):
        raise BadCommand(command)
    return command


def ensure_command_line(command: str = "") -> str:
    """Return the command line to run on the host, quoted for its login shell.

    Args:
        command: The command remembered for the host, tried last; empty: none.
    """
    return f"exec sh -c '{_SCRIPT}' kmonitor {shlex.quote(checked_command(command))}"


def ensure_remote(
    address: str, *, command: str = "", stop: threading.Event | None = None
) -> RemoteHub:
    """Return the hub on a host; it is started there when none replies.

    Args:
        command: The command remembered for the host; empty: none.
        stop: Cancels the request when set.

    Raises:
        HostError: There is no hub, with the reason.
        UserError: The address or the command cannot be used, or there is no ssh here.
        ConnectCancelled: `stop` was set.
    """
    address = checked_address(address)
    arguments = remote_arguments(address, ensure_command_line(command))
    with subprocess.Popen(  # noqa: S603 - a list, never a shell; the address is checked
        arguments,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=ssh_environment(),
        start_new_session=True,
    ) as process:
        out, err = _output(process, address, stop or threading.Event())
    return read_answer(address, process.returncode, out, err)


def read_answer(address: str, status: int, out: str, err: str) -> RemoteHub:
    """Return the hub from the output of the host.

    Args:
        status: ssh's exit status.
        out: Standard output.
        err: Standard error, of ssh and of the host.

    Raises:
        HostError: There is no hub.
    """
    lines = [line for line in out.splitlines() if line.startswith(_MARK)]
    _, found_marker, rest = out.partition(f"{_MARK}said ")
    if found_marker:
        found_by, _, reply_text = rest.partition(" ")
        return _hub_from_reply(address, found_by, reply_text)
    if not lines and status == _SSH_FAILED:
        raise ssh_error(address, err)
    if not lines:
        raise login_ended(address, status, f"{out}\n{err}")
    tried = [line.split(" ", 3)[1:] for line in lines if line.startswith(f"{_MARK}tried ")]
    if any(_USAGE_STATUS in attempt[1:2] for attempt in tried):
        raise too_old(address, "")
    if any(_TIMED_OUT in attempt[1:2] for attempt in tried):
        raise hub_silent(address, _TRY_S)
    raise not_found(address, [_attempt_text(attempt) for attempt in tried])


def _output(
    process: "subprocess.Popen[bytes]", address: str, stop: threading.Event
) -> tuple[str, str]:
    end_s = time.monotonic() + _ANSWER_S
    while True:
        try:
            out, err = process.communicate(timeout=_POLL_S)
        except subprocess.TimeoutExpired:
            is_late = time.monotonic() > end_s
            if not is_late and not stop.is_set():
                continue
            process.kill()
            if is_late:
                raise hub_silent(address, _ANSWER_S) from None
            raise ConnectCancelled from None
        return _text(out), _text(err)


def _text(output: bytes) -> str:
    return output[:_MOST_OUTPUT].decode("utf-8", "replace")


def _hub_from_reply(address: str, found_by: str, reply_text: str) -> RemoteHub:
    # Libraries say things on standard output too; the answer is the last line that can be one.
    answer = next((line for line in reversed(reply_text.splitlines()) if line.startswith("{")), "")
    try:
        hub = msgspec.json.decode(answer, type=RemoteHub)
    except (msgspec.MsgspecError, RecursionError):
        raise _refusal(address, answer) from None
    oldest, newest = hub.protocol
    if newest < MINOR_VERSIONS[0]:
        raise too_old(address, hub.version)
    if oldest > MINOR_VERSIONS[1]:
        raise too_new(address, hub.version)
    if not is_forwardable(hub.socket):
        what = f"The hub on {address} has a socket that ssh cannot forward: {hub.socket[:200]!r}."
        raise HostError("hub_failed", address, what, "Set KMONITOR_HOME there to a shorter path.")
    return msgspec.structs.replace(hub, found_by=found_by[:20])


def _refusal(address: str, reply_text: str) -> HostError:
    try:
        refusal = msgspec.json.decode(reply_text, type=RemoteRefusal)
    except (msgspec.MsgspecError, RecursionError):
        what = f"kmonitor on {address} sent a response that this version does not understand."
        return HostError(
            "broken", address, what, f"Run this to see why: ssh {address} kmonitor doctor"
        )
    code = "disabled" if refusal.error == "disabled" else "hub_failed"
    return HostError(
        code, address, f"On {address}: {_plain(refusal.what)}", _plain(refusal.remedy)
    )


def _plain(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text)


_LOCATIONS: Final = {
    "launcher": "the interpreter of the last training run there",
    "path": "kmonitor on the PATH of a login shell",
    "command": "the command remembered for it",
}

_NOT_RUN: Final = {
    "gone": "it no longer exists",
    "damaged": "the record is damaged",
    "unsafe": "another user may have written it",
}


def _attempt_text(attempt: list[str]) -> str:
    location = _LOCATIONS.get(attempt[0] if attempt else "", "")
    if attempt[1:2] == ["none"]:
        return f"{location} (none)"
    status = (attempt[1:2] or [""])[0]
    what = _plain((attempt[2:3] or [""])[0])
    if status in _NOT_RUN:
        return f"{location} ({what}: {_NOT_RUN[status]})"
    return f"{location} ({what}: exit status {status})"
