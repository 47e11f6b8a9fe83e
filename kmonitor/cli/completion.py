"""`kmonitor completion`: Tab completion in bash, zsh and fish, and its set-up."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal, get_args

from cyclopts import App, Parameter
from cyclopts.exceptions import CycloptsError

from kmonitor.alerts.rules import rule_keys, rule_name
from kmonitor.base.atomic_file import atomic_file
from kmonitor.base.errors import UserError
from kmonitor.base.installation import resource_path
from kmonitor.cli.common.options import choices_of
from kmonitor.cli.common.run_choice import LAST, PINNED, SHORT_ID
from kmonitor.cli.common.terminal import DONE, UsageError, print_text, terminal_safe
from kmonitor.connect.hub_client import HubClient
from kmonitor.connect.remembered_hosts import HostStore
from kmonitor_agent.wire.local.folders import expand_user, find_folders
from kmonitor_agent.wire.local.hub_address import view_socket_path
from kmonitor_agent.wire.messages.commands import LIMIT_METRICS, LimitAction

Shell = Literal["bash", "zsh", "fish"]
SHELLS: Final[tuple[Shell, ...]] = get_args(Shell)
_MARK: Final = "# kmonitor completion"
_HUB_S: Final = 1.0
"""Longest wait for the names of runs, seconds: the user waits for Tab."""

_RUN_NAMES: Final = ("RUN", "A", "B")
_HOST_NAMES: Final = ("HOST", "--host")


def completion(
    *words: str,
    shell: Annotated[Shell | None, Parameter(name="--shell")] = None,
    install: Annotated[
        bool | None, Parameter(name="--install", negative="--remove", show_default=False)
    ] = None,
    is_asked: Annotated[bool, Parameter(name="--words", negative="", show=False)] = False,
) -> int:
    """Print a shell script for Tab completion of commands, options, runs, hosts and actions.

    Example: `kmonitor completion --install`

    Args:
        words: The words of the command line being completed; used by the completion scripts.
        shell: Default: your login shell (`SHELL`).
        install: Set it up for shells that you open from now on; `--remove` undoes that.
        is_asked: Print the possible completions of the last word.
    """
    if is_asked:
        print_text("\n".join(candidates(words)))
        return DONE
    if words:
        raise UsageError(f"Unexpected arguments: {' '.join(words)}")
    chosen = shell or _login_shell()
    if install is None:
        print_text(script(chosen).rstrip("\n"))
    elif install:
        _install(chosen)
    else:
        _remove(chosen)
    return DONE


def script(shell: Shell) -> str:
    return resource_path("completion", f"kmonitor.{shell}").read_text(encoding="utf-8")


def candidates(words: Sequence[str]) -> list[str]:
    """Return possible completions of the last word; empty: a file, or unknown.

    Args:
        words: Words after `kmonitor`; the last one is being typed, and may be empty.
    """
    *before, current = words or ("",)
    if "--" in before:
        return []
    app, path, rest = _command(before)
    arguments = _arguments(app)
    previous = next((a for a in arguments if before and before[-1] in a.names), None)
    if previous is not None and previous.hint is not bool and not _is_flag(previous):
        offered = _values(previous, before[-1])
    elif current.startswith("-"):
        offered = [name for each in arguments if each.show for name in each.names]
        offered += ["--help"]
    else:
        groups = [name for name in app if name[0] != "-" and app[name].show] if not rest else []
        offered = [*groups, *_positional(arguments, rest, current)]
    return sorted({word for word in offered if word.startswith(current)} - set(path))


def _command(words: Sequence[str]) -> tuple[App, list[str], list[str]]:
    """The called command, its name, and the words after it that are no options."""
    from kmonitor.cli.main import build_app  # noqa: PLC0415 - it imports this module by name

    app = build_app(words[0] if words else "")
    path: list[str] = []
    for word in words:
        if word.startswith("-") or word not in app:
            break
        app = app[word]
        path.append(word)
    return app, path, _without_options(_arguments(app), words[len(path) :])


def _without_options(arguments: Iterable[Any], words: Sequence[str]) -> list[str]:
    taking = {
        name for each in arguments if not _is_flag(each) for name in each.names if name[:1] == "-"
    }
    found: list[str] = []
    is_value = False
    for word in words:
        if not (is_value or word.startswith("-")):
            found.append(word)
        is_value = word in taking
    return found


def _arguments(app: App) -> list[Any]:
    # cyclopts has no type for a collection of arguments whose hints are read.
    try:
        return list(app.assemble_argument_collection(parse_docstring=False))
    except (CycloptsError, ValueError):
        return []  # a group without a command of its own


def _is_flag(argument: Any) -> bool:
    return argument.hint is bool or set(get_args(argument.hint)) == {bool, type(None)}


def _limits(current: str) -> list[str]:
    """Completions of a limit: metric, threshold and action."""
    metric, _, rest = current.partition("=")
    threshold, colon, _ = rest.partition(":")
    if colon:
        return [f"{metric}={threshold}:{action}" for action in get_args(LimitAction)]
    return [f"{current}:"] if threshold else [f"{each}=" for each in LIMIT_METRICS]


def _positional(arguments: Iterable[Any], rest: Sequence[str], current: str) -> list[str]:
    if "set_limits" in rest[1:]:
        return _limits(current)
    found = [each for each in arguments if each.index is not None]
    if len(rest) >= len(found):
        return []
    argument = found[len(rest)]
    return _values(argument, argument.names[0] if argument.names else "")


def _values(argument: Any, name: str) -> list[str]:
    if name in _HOST_NAMES:
        return [host.called for host in HostStore(find_folders()).hosts()]
    if name == "RULE":
        return [rule_name(*key) for key in rule_keys()]
    if name in _RUN_NAMES or name == "--run":
        names = _run_names()
        return names + ([f"{PINNED}{each}" for each in names[1:]] if name in ("A", "B") else [])
    return list(choices_of(argument.hint))


def _run_names() -> list[str]:
    """Names and ids of a running hub's runs; no hub is started for a Tab."""
    folders = find_folders()
    if not view_socket_path(folders).exists():
        return [LAST]
    try:
        with HubClient(folders=folders, timeout_s=_HUB_S) as client:
            runs = client.runs()
    except UserError:
        return [LAST]
    names = [run.name for run in runs if run.name == terminal_safe(run.name)]
    # A name with a blank would be two words.
    names = [name for name in names if name.split() == [name]]
    return [LAST, *names, *(run.run[:SHORT_ID] for run in runs)]


def _login_shell() -> Shell:
    name = Path(os.environ.get("SHELL", "")).name
    for shell in SHELLS:
        if name == shell:
            return shell
    raise UsageError("SHELL is not bash, zsh or fish.", "Choose one: --shell bash")


def script_path(shell: Shell) -> Path:
    """Path to which `--install` writes the script of a shell."""
    data = Path(os.environ.get("XDG_DATA_HOME", "") or expand_user("~/.local/share"))
    config = Path(os.environ.get("XDG_CONFIG_HOME", "") or expand_user("~/.config"))
    match shell:
        case "bash":
            return data / "bash-completion" / "completions" / "kmonitor"
        case "zsh":
            return data / "kmonitor" / "completion.zsh"
        case "fish":
            return config / "fish" / "completions" / "kmonitor.fish"


def _startup_path(shell: Shell) -> Path | None:
    """Start-up file of the shell that reads the script; None: the shell finds it by itself."""
    match shell:
        case "bash":
            return expand_user("~/.bashrc")
        case "zsh":
            return Path(os.environ.get("ZDOTDIR", "") or expand_user("~")) / ".zshrc"
        case "fish":
            return None


def _install(shell: Shell) -> None:
    path = script_path(shell)
    startup = _startup_path(shell)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(path) as file:
            file.write(script(shell).encode())
        if startup is not None:
            _set_startup_line(startup, f'[ -r "{path}" ] && . "{path}"  {_MARK}')
    except OSError as exc:
        raise UserError(f"{exc.filename or path} cannot be written: {exc.strerror}.") from exc
    where = str(path) if startup is None else f"{path}, read by {startup}"
    print_text(
        f"Installed: {terminal_safe(where)}. New {shell} shells will complete kmonitor commands."
    )


def _remove(shell: Shell) -> None:
    path = script_path(shell)
    startup = _startup_path(shell)
    try:
        path.unlink(missing_ok=True)
        if startup is not None and startup.exists():
            _set_startup_line(startup, "")
    except OSError as exc:
        raise UserError(f"{exc.filename or path} cannot be changed: {exc.strerror}.") from exc
    print_text(f"Removed: {terminal_safe(str(path))}.")


def _set_startup_line(startup: Path, line: str) -> None:
    """Replace kmonitor's line in a shell's file; all others stay unchanged."""
    # A link into somebody's repository of such files is followed, as an editor would.
    target = startup.resolve()
    before = (
        target.read_text(encoding="utf-8", errors="surrogateescape") if target.exists() else ""
    )
    others = [each for each in before.splitlines(keepends=True) if _MARK not in each]
    if others and not others[-1].endswith("\n"):
        others[-1] += "\n"
    after = "".join(others) + (f"{line}\n" if line else "")
    if after != before:
        target.write_text(after, encoding="utf-8", errors="surrogateescape")
