"""The command `kmonitor`: its subcommands, and messages for failures."""

import difflib
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, get_args

from cyclopts import (
    App,
    Argument,
    CoercionError,
    CycloptsError,
    MissingArgumentError,
    Token,
    UnknownCommandError,
    UnknownOptionError,
    UnusedCliTokensError,
)
from rich.theme import Theme

from kmonitor import __version__
from kmonitor.base.errors import UserError
from kmonitor.base.standard_streams import (
    escape_what_cannot_be_encoded,
    fill_standard_streams,
)
from kmonitor.cli.common.terminal import (
    BROKEN_PIPE,
    DONE,
    FAILED,
    INTERRUPTED,
    USAGE,
    UsageError,
    discard_output,
    is_of_output,
    print_error,
    print_stderr,
    terminal_safe,
)
from kmonitor.connect.ssh import BadAddress, checked_address
from kmonitor_agent.wire.local.folders import invalid_home_text

if TYPE_CHECKING:
    from cyclopts.help import HelpEntry, HelpPanel


_EMPTY: Final = ("False", '""', "()", "None")
"""Defaults not shown: an absent option is off, or empty."""

_MOST_CHOICES: Final = 26
"""Longest list of choices beside an option, characters; the column has 28 of 80."""

_STYLES: Final = {
    "markdown.code": "bold cyan",
    **dict.fromkeys(("cyclopts.choices", "cyclopts.default", "cyclopts.env_var"), "dim"),
}
"""Styles without background, in the terminal's own palette; rich prints code on black."""

_NAMES: Final = {
    **dict.fromkeys(("hub", "bind", "prometheus"), "ADDRESS"),
    **dict.fromkeys(("otlp", "webhook"), "URL"),
    **dict.fromkeys(("keep-size", "larger-than", "limit"), "SIZE"),
    **dict.fromkeys(("hold", "cooldown", "since", "older-than"), "TIME"),
    "fail-if": "CONDITION",
    "input-shape": "SHAPE",
    "measured": "BATCH=SIZE",
}
"""Placeholders of options whose name does not describe their value."""

_EXAMPLES: Final = {
    "TIME": "30s, 12h or 7d",
    "SIZE": "8GiB or 500MB",
    "URL": "https://HOST/PATH",
    "CONDITION": '"ram>+5%"',
    "SHAPE": "224,224,3",
    "BATCH=SIZE": "32=1.9GiB",
    "N": "20",
}
"""Example values of options, by placeholder."""

_REQUIRED = re.compile(r"--([a-z-]+) (?:STR|CHOICE)\b")


class HelpFormat:
    """Formatter of cyclopts for `--help`."""

    show_metavar = True
    """Keep placeholders of required options in the line of usage."""

    def __call__(self, console: Any, options: Any, panel: "HelpPanel") -> None:
        from cyclopts.help import DefaultFormatter  # noqa: PLC0415 - loaded for `--help` only

        entries = [_plain(entry) for entry in panel.entries]
        with console.use_theme(Theme(_STYLES)):
            DefaultFormatter()(console, options, panel.copy(entries=entries))

    def render_description(self, console: Any, _options: Any, description: Any) -> None:
        markdown = getattr(description, "primary_renderable", description)
        if hasattr(markdown, "code_theme"):
            markdown.code_theme = "ansi_dark"  # without a background
        console.print(_Styled(description))

    def render_usage(self, console: Any, options: Any, usage: Any) -> None:
        from cyclopts.help import DefaultFormatter  # noqa: PLC0415 - loaded for `--help` only

        named = _REQUIRED.sub(lambda option: f"--{option[1]} {_named(option[1])}", str(usage))
        DefaultFormatter().render_usage(console, options, named)


class _Styled:
    """Markdown in kmonitor's styles: the panel around it resets them to rich's own."""

    def __init__(self, markdown: Any) -> None:
        self._markdown = markdown

    def __rich_console__(self, console: Any, options: Any) -> Iterator[Any]:
        with console.use_theme(Theme(_STYLES)):
            yield from console.render(self._markdown, options)


def _plain(entry: "HelpEntry") -> "HelpEntry":
    default = entry.default
    changes: dict[str, Any] = {"description": entry.description and _Styled(entry.description)}
    changes["default"] = None if default in _EMPTY else default and default.removesuffix(".0")
    # Before version 5 cyclopts has no placeholders.
    placeholder: str = getattr(entry, "metavar", None) or ""
    if placeholder and entry.names:
        changes["metavar"] = _placeholder(entry, placeholder)
        if changes["metavar"] == "|".join(entry.choices or ()):
            changes["choices"] = None
    return entry.copy(**changes)


def _placeholder(entry: "HelpEntry", placeholder: str) -> str:
    kind = placeholder.removesuffix("...")
    more = placeholder[len(kind) :]
    choices = "|".join(entry.choices or ())
    if choices and not more and len(choices) <= _MOST_CHOICES:
        return choices
    if kind in ("INT", "FLOAT"):
        return f"N{more}"
    return placeholder if kind == "PATH" else f"{_named(entry.names[0])}{more}"


def _named(option: str) -> str:
    name = option.lstrip("-")
    return _NAMES.get(name, name.replace("-", "_").upper())


_ELSEWHERE: Final = ("--host", "--hub")

_LOCAL_ONLY: Final[Mapping[str, str]] = {
    "run": "runs a script",
    "demo": "runs a training process",
    "checkpoints": "reads the files",
    "restore": "reads a file",
    "hub": "applies to the hub",
    "purge": "removes files",
    "hosts": "applies to the remembered hosts",
    "alerts": "applies to the alerts",
    "keys mine": "applies to the key",
}
"""Commands that act on the machine on which they are called, with their action."""

_ADDRESSED: Final = (("hosts", "add"), ("hosts", "remove"), ("hosts", "rename"))


def about_option(arguments: Sequence[str], option: str) -> tuple[str, str] | None:
    """Cause and remedy of an unknown option; None: not known.

    Args:
        arguments: All words of the command line.
        option: The option that the command does not know.
    """
    # After `--` nothing is an option any more, and the parser is of another mind.
    if "--" in arguments and option in arguments[arguments.index("--") :]:
        return (
            f"{option} comes after --, where options are not recognized.",
            "Put options before it.",
        )
    if tuple(arguments[:2]) in _ADDRESSED and not option.startswith("--"):
        what = f'"{option}" is not a host name: it begins with a hyphen.'
        return what, "Use the form that ssh accepts: gpu-01 or user@gpu-01."
    called = next((c for c in (" ".join(arguments[:2]), *arguments[:1]) if c in _LOCAL_ONLY), "")
    name = option.partition("=")[0]
    if name in _FOR_SCRIPTS:
        return (
            f"Unknown option: {option}.",
            "In scripts, add --json to commands that list something.",
        )
    if name not in _ELSEWHERE or not called:
        return None
    at = next(at for at, argument in enumerate(arguments) if argument.partition("=")[0] == name)
    host = arguments[at].partition("=")[2] or "".join(arguments[at + 1 : at + 2])
    is_host = name == "--host" and _is_plain(host)
    what = f"kmonitor {called} {_LOCAL_ONLY[called]} on the machine where it runs"
    remedy_command = f"ssh {host if is_host else 'HOST'} kmonitor {' '.join(arguments[:at])}"
    return f"{what}, and has no {name}.", f"Run it there: {remedy_command}"


def _is_plain(host: str) -> bool:
    try:
        return checked_address(host) == host
    except BadAddress:
        return False


_LONGEST_SHOWN = 200

HELP = """
Monitor Keras training live: graph size, RAM, VRAM and step time; save, clear and reload a
training run midway without changing its result.

In your script, two lines:

```
from kmonitor_agent import MonitorCallback
model.fit(..., callbacks=[MonitorCallback()])
```

Then, here:

```
kmonitor                             open the window
kmonitor demo                        watch a real training run that leaks
kmonitor top                         watch your runs live in the terminal
kmonitor runs                        list your runs
kmonitor show last                   show the newest one
kmonitor report last                 the same with charts, as a file to share
kmonitor command last reload --wait  save, clear and reload it now
kmonitor run -- python train.py      run a script that can be restarted
kmonitor map model.keras --batch 64  memory needed to train it, by layer
kmonitor doctor                      check for problems
```

Every command has its own help: `kmonitor show --help`. `KMONITOR_HOME=DIR` keeps every file
and socket of the agent, hub and app under DIR.
"""

_TERMINAL_SIZES = {"COLUMNS": (20, 1000), "LINES": (2, 1000)}
_SIZE_DIGITS = 9

SUBCOMMANDS = {
    "run": ("kmonitor.cli.run:run", "Run a script so that it can be restarted and continue."),
    "demo": (
        "kmonitor.cli.demo.command:demo",
        "Watch a real training run leak, and see how it is fixed.",
    ),
    "runs": ("kmonitor.cli.runs:app", "List the runs; pin them; remove old ones."),
    "top": ("kmonitor.cli.top.command:top", "Watch and control runs live."),
    "show": (
        "kmonitor.cli.show.command:show",
        "Show one run: state, metrics, epochs and events.",
    ),
    "command": (
        "kmonitor.cli.send_command:command",
        "Send a training run a command: save, reload, stop, ...",
    ),
    "checkpoints": ("kmonitor.cli.checkpoints:checkpoints", "List a run's checkpoints."),
    "restore": ("kmonitor.cli.restore:restore", "Turn a checkpoint into a .keras file."),
    "compare": (
        "kmonitor.cli.compare.command:compare",
        "Compare two runs; fail if one is worse.",
    ),
    "export": ("kmonitor.cli.export:export", "Export the stored data of a run."),
    "report": ("kmonitor.cli.report:report", "Write a report on a run as a single HTML file."),
    "map": ("kmonitor.cli.map:memory_map", "Estimate the memory that training needs, by layer."),
    "inspect": (
        "kmonitor.cli.inspect_file:inspect_model",
        "Inspect a model file by layer.",
    ),
    "load-cost": ("kmonitor.cli.load_cost:load_cost", "Measure the cost of loading a model."),
    "alerts": ("kmonitor.cli.alerts.command:app", "List and set alert rules and targets."),
    "ship": ("kmonitor.cli.ship:ship", "Send the runs in a folder to the hub, for clusters."),
    "authorize": ("kmonitor.cli.keys:authorize", "Authorize a device to connect to the hub."),
    "keys": ("kmonitor.cli.keys:app", "Show this machine's key; list and revoke keys."),
    "audit": ("kmonitor.cli.audit:audit", "Show the audit log of the hub."),
    "hub": (
        "kmonitor.cli.hub.command:app",
        "Run the hub without a window; show its status; stop it.",
    ),
    "hosts": ("kmonitor.cli.hosts:app", "List, add and remove remembered hosts."),
    "doctor": (
        "kmonitor.cli.doctor.command:doctor",
        "Check for problems and show how to fix them.",
    ),
    "completion": ("kmonitor.cli.completion:completion", "Set up Tab completion."),
    "purge": ("kmonitor.cli.purge:purge", "List and remove all kmonitor files."),
}
"""Name to import path and line in the list of commands; docstrings are the `--help` texts."""


_GROUPS = {
    "alerts": ("set", "rule", "test", "dry-run", "sent"),
    "hub": (
        *("status", "stop", "ensure", "keep", "store", "move-history", "install-unit"),
        "dashboard",
    ),
    "hosts": ("add", "remove", "rename"),
    "keys": ("list", "mine", "revoke"),
    "runs": ("prune", "pin", "unpin"),
}
"""Commands of groups, so that a mistyped word is explained without imports."""

_OTHER_WORDS = {
    **dict.fromkeys(("ps", "ls", "list", "get", "history"), "runs"),
    **dict.fromkeys(("htop", "nvitop", "watch", "monitor", "dashboard", "ui"), "top"),
    **dict.fromkeys(("log", "logs", "tail", "follow", "attach"), "show RUN --follow"),
    **dict.fromkeys(("describe", "info", "events", "why"), "show RUN"),
    **{
        name: f"command RUN {name}"
        for name in (
            *("save", "collect", "reload", "restart", "auto", "diagnose", "pause", "resume"),
            "stop",
        )
    },
    "kill": "command RUN stop",
    "limit": "command RUN set_limits ram=80%:reload",
    "limits": "command RUN set_limits ram=80%:reload",
    "set": "command RUN set_limits ram=80%:reload",
    "mem": "map",
    "memory": "map",
    "notify": "alerts",
    "diff": "compare A B",
    "start": "run -- python train.py",
    "python": "run -- python train.py",
    "status": "hub status",
    "server": "hub",
    "check": "doctor",
    "rm": "runs prune",
    "delete": "runs prune",
    "clean": "runs prune",
    "pin": "runs pin RUN",
    "unpin": "runs unpin RUN",
    "uninstall": "purge",
    "version": "--version",
    "help": "--help",
}
"""Words of other programs for commands of this one."""

_LISTING: Final = ("ls", "list", "get", "show")
_REMOVING: Final = ("rm", "remove", "delete", "del")
_OTHER_WORDS_OF_GROUPS: Final[Mapping[str, Mapping[str, str]]] = {
    "alerts": {
        **dict.fromkeys(_LISTING, "alerts"),
        **dict.fromkeys(("add", "target", "edit"), "alerts set --webhook URL"),
        **dict.fromkeys(_REMOVING, "alerts set --command '' --webhook ''"),
        **dict.fromkeys(("history", "log", "logs"), "alerts sent"),
    },
    "hosts": {**dict.fromkeys(_LISTING, "hosts"), **dict.fromkeys(_REMOVING, "hosts remove HOST")},
    "hub": {**dict.fromkeys(_LISTING, "hub status"), "start": "hub"},
    "keys": {
        **dict.fromkeys(_LISTING, "keys list"),
        **dict.fromkeys(_REMOVING, "keys revoke NAME"),
        "add": "authorize",
    },
    "runs": {**dict.fromkeys(_LISTING, "runs"), **dict.fromkeys(_REMOVING, "runs prune")},
}

_OTHER_VALUES: Final = {
    **dict.fromkeys(("died", "dead", "killed", "crashed", "oom"), "lost"),
    **dict.fromkeys(("running", "active", "alive"), "live"),
    **dict.fromkeys(("done", "succeeded", "completed"), "finished"),
    **dict.fromkeys(("mem", "memory", "rss"), "ram"),
    **dict.fromkeys(("gpu", "gpumem"), "vram"),
    **dict.fromkeys(("time", "step_time"), "step"),
    **dict.fromkeys(("age", "new", "newest"), "started"),
}
"""Words of other programs for choices of options."""

_FOR_SCRIPTS: Final = ("-o", "--output", "--format", "--no-headers", "--no-header")


def build_app(called: str = "") -> App:
    """Build the command line; a subcommand's module is imported only when it is called.

    Args:
        called: The called subcommand, whose help is its own docstring.
    """
    app = App(
        name="kmonitor",
        help=HELP,
        version=f"kmonitor {__version__}",
        version_flags=("--version", "-V"),
        help_format="markdown",
        help_formatter=HelpFormat(),
        result_action="return_value",
        exit_on_error=False,
        print_error=False,
    )
    if called not in SUBCOMMANDS:
        # It brings the ways to hubs along, which take as long as a small command does.
        from kmonitor.cli.window import window  # noqa: PLC0415

        app.default(window)
    for name, (where, line) in SUBCOMMANDS.items():
        app.command(where, name=name, help=None if name == called else line)
    return app


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line.

    Args:
        arguments: Arguments without the program's name; None: those of the process.

    Returns:
        The exit status.
    """
    argv = list(sys.argv[1:] if arguments is None else arguments)
    fill_standard_streams()
    escape_what_cannot_be_encoded()
    _bound_terminal_size()
    try:
        status = _guarded(argv)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader (`| head`) has left.
        discard_output()
        return BROKEN_PIPE
    except OSError as exc:
        if is_of_output(exc):
            discard_output()
            why = exc.strerror or exc
            print_stderr(f"kmonitor: cannot write to standard output: {why}.")
        elif exc.filename is not None:
            print_stderr(f"kmonitor: {_shown(exc.filename)} cannot be used: {exc.strerror}.")
        else:
            raise
        return FAILED
    return status


def _bound_terminal_size() -> None:
    """Bound COLUMNS and LINES to sizes that rich can lay out: it loops at a width of 1."""
    for name, (least, most) in _TERMINAL_SIZES.items():
        written = os.environ.get(name)
        if written is None:
            continue
        if written.isdecimal() and int(written[:_SIZE_DIGITS]):
            os.environ[name] = str(min(max(int(written[:_SIZE_DIGITS]), least), most))
        else:
            del os.environ[name]


def _guarded(argv: list[str]) -> int:
    called = argv[0] if argv else ""
    try:
        if not _is_help_or_version(argv):
            _require_valid_home()
        result = build_app(called)(argv)
    except CycloptsError as exc:
        _complain_of_command_line(argv, exc)
        return USAGE
    except UserError as exc:
        print_error(exc)
        return USAGE if isinstance(exc, UsageError) else FAILED
    except UnicodeEncodeError:
        if _is_text(argv):
            raise
        _complain_of_usage(
            called, "The command line contains bytes that cannot be decoded as text."
        )
        return USAGE
    except KeyboardInterrupt:
        return INTERRUPTED
    return result if isinstance(result, int) else DONE


def _shown(path: object) -> str:
    """A refused path, shortened, as it may be of any length."""
    text = terminal_safe(os.fsdecode(path) if isinstance(path, bytes) else str(path))
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."


def _is_help_or_version(argv: list[str]) -> bool:
    # Arguments after `--` are another program's.
    own = argv[: argv.index("--")] if "--" in argv else argv
    return any(argument in ("--help", "-h", "--version", "-V") for argument in own)


def _require_valid_home() -> None:
    if why := invalid_home_text(os.environ):
        raise UserError(why)


def _is_text(argv: list[str]) -> bool:
    """False if there are bytes that are no text, which are valid in paths but not in names."""
    return all(word.encode(errors="ignore").decode() == word for word in argv)


def _complain_of_command_line(argv: list[str], exc: CycloptsError) -> None:
    match exc:
        case UnusedCliTokensError():
            _complain_of_argument(argv, exc.unused_tokens or [])
        case UnknownOptionError():
            _complain_of_option(argv, exc)
        case UnknownCommandError() if argv[0] in _GROUPS:
            _complain_of_command(f"{argv[0]} ", argv[1], _GROUPS[argv[0]])
        case MissingArgumentError(keyword=str(option), argument=Argument(hint=hint)):
            _complain_of_usage(argv[0], f"{option} needs a value{_example(option, hint)}.")
        case CoercionError(token=Token(value=typed)) if meant := _meant_value(exc, typed):
            what = str(exc).partition(" Did you mean")[0]
            _complain_of_usage(argv[0] if argv else "", f'{what} Did you mean "{meant}"?')
        case _:
            _complain_of_usage(argv[0] if argv else "", str(exc))


def _example(option: str, hint: Any) -> str:
    """Example of an option's value, after a separator; empty: not known."""
    from kmonitor.cli.common.options import choices_of  # noqa: PLC0415 - for an error only

    if choices := ", ".join(choices_of(hint)):
        return f": {choices}"
    is_number = {int, float} & {hint, *get_args(hint)}
    example = _EXAMPLES.get("N" if is_number else _named(option))
    return f", such as {example}" if example else ""


def _meant_value(exc: CoercionError, typed: str) -> str:
    """The intended choice; empty: not known."""
    word = typed.casefold()
    meant = _OTHER_VALUES.get(word, word)
    return meant if f'"{meant}"' in str(exc).partition("Choose from")[2] else ""


def _complain_of_argument(argv: list[str], unused: Sequence[str]) -> None:
    called = argv[0]
    subcommands = _GROUPS.get(called)
    if subcommands and list(unused[:1]) == argv[1:2]:
        _complain_of_command(f"{called} ", argv[1], subcommands)
    elif called in SUBCOMMANDS or called.startswith("-"):
        _complain_of_usage(called, f"Unexpected arguments: {' '.join(unused)}")
    else:
        _complain_of_command("", called, SUBCOMMANDS)


def _complain_of_option(argv: list[str], exc: UnknownOptionError) -> None:
    option = exc.token.keyword or exc.token.value
    hint = about_option(argv, option)
    if hint is None:
        what, suggests, meant = str(exc).partition(" Did you mean ")
        # The hyphens that all options share make none of them near.
        is_near = difflib.get_close_matches(option.lstrip("-"), [meant.lstrip("-")[:-1]])
        _complain_of_usage(argv[0], f"{what}{suggests}{meant}" if is_near else what)
        return
    print_stderr(f"kmonitor: {terminal_safe(hint[0])}")
    print_stderr(terminal_safe(hint[1]))


def _complain_of_command(group: str, called: str, known: Iterable[str]) -> None:
    near = difflib.get_close_matches(called, known, n=1)
    others = _OTHER_WORDS_OF_GROUPS.get(group.strip(), {}) if group else _OTHER_WORDS
    meant = others.get(called.casefold()) or (f"{group}{near[0]}" if near else "")
    # Nothing behind it: people copy it whole.
    suggestion = f" Did you mean kmonitor {meant}?" if meant else ""
    _complain_of_usage(group.strip(), f'Unknown command "{group}{called}".{suggestion}')


def _complain_of_usage(called: str, what: str) -> None:
    print_stderr(f"kmonitor: {terminal_safe(what)}")
    about = f"{called} " if called in SUBCOMMANDS else ""
    print_stderr(f"See: kmonitor {about}--help")


if __name__ == "__main__":
    raise SystemExit(main())
