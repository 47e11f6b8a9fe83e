"""Command lines: every option with odd values, and what was once answered with a traceback."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from cyclopts import App

from kmonitor.cli.main import build_app

BASES: Final[dict[str, tuple[str, ...]]] = {
    "alerts": (),
    "alerts dry-run": (),
    "alerts sent": (),
    "alerts rule": ("died",),
    "alerts set": ("--command", ""),
    "audit": (),
    "authorize": ("x" * 40, "--role", "viewer", "--name", "ada"),
    "checkpoints": ("last",),
    "command": ("last", "save", "--timeout", "0"),
    "compare": ("last", "last"),
    "completion": ("--shell", "bash"),
    "doctor": (),
    "export": ("last",),
    "hosts": (),
    "hosts add": ("gpu-01", "--untried"),
    "hosts remove": ("nobody",),
    "hosts rename": ("nobody", "somebody"),
    "hub dashboard": (),
    "hub ensure": (),
    "hub install-unit": (),
    "hub keep": (),
    "hub move-history": (),
    "hub status": (),
    "hub store": (),
    "inspect": ("model.json",),
    "keys list": (),
    "keys mine": (),
    "keys revoke": ("nobody",),
    "load-cost": ("model.json",),
    "map": ("model.json",),
    "report": ("last",),
    "restore": ("checkpoint.h5", "--into", "model.keras"),
    "run": ("--", "/bin/true"),
    "runs": (),
    "runs pin": ("last",),
    "runs prune": ("--dry-run",),
    "runs unpin": ("last",),
    "ship": ("folder",),
    "show": ("last",),
}
"""Each command with what it needs; `hub`, the window, `demo` and `purge` have lines in `LINES`."""

_NINES: Final = "9" * 330

_TEXTS: Final = ("", "\x1b[31m", "x" * 5000, "\udcff", "a\nb", "-")
_NUMBERS: Final = ("", "-1", "0", _NINES, "1e400", "nan", "x", "0x10")
_SIZES: Final = (f"{_NINES}GiB", "-1GiB", "nanGiB", "0", "GiB")
_PATHS: Final = ("", "/", "/proc/nonexistent/x", "/dev/full", "a\nb", "x" * 5000, "/proc/self/mem")

_SKIPPED: Final = {"--help", "-h", "--version", "--follow", "-f", "--watch", "--install"}


def generated() -> Iterator[tuple[str, ...]]:
    """Every option of every command of `BASES` with odd values, and odd positional arguments."""
    for command, needed in BASES.items():
        words = tuple(command.split())
        for value in ("", "\udcff", "x" * 5000, "--", "-x", "--nonsense=1"):
            yield (*words, value) if not needed else (*words, value, *needed[1:])
        for option, values in _options(command):
            given = _without(needed, option)
            separator = ("--",) if "--" in given else ()
            rest = given[given.index("--") + 1 :] if separator else ()
            before = given[: given.index("--")] if separator else given
            for value in values:
                more = (option,) if value is None else (f"{option}={value}",)
                yield (*words, *before, *more, *separator, *rest)


def _without(needed: tuple[str, ...], option: str) -> tuple[str, ...]:
    if option not in needed:
        return needed
    at = needed.index(option)
    return needed[:at] + needed[at + 2 :]


def _options(command: str) -> Iterator[tuple[str, tuple[str | None, ...]]]:
    """Long options of a command with values to try; None: it takes none."""
    words = command.split()
    app: App = build_app(words[0])
    for word in words:
        app = app[word]
    for argument in app.assemble_argument_collection():
        names = [name for name in argument.names if name.startswith("--")]
        if not names or names[0] in _SKIPPED:
            continue
        yield names[0], _values(argument.hint)


def _values(hint: Any) -> tuple[str | None, ...]:
    kinds = str(hint)
    if hint is bool or kinds == "bool":
        return (None,)
    if "Path" in kinds:
        return _PATHS
    if "int" in kinds or "float" in kinds:
        return _NUMBERS
    return (*_TEXTS, *_SIZES)


LINES: Final[tuple[tuple[tuple[str, ...], set[int]], ...]] = (
    (("runs", "prune", "--dry-run", "--larger-than", f"{_NINES}GiB"), {0, 2}),
    (("hub", "keep", "--size", f"{_NINES}GiB"), {0, 2}),
    (("hub", f"--keep-size={_NINES}GiB"), {2}),
    (("hub", "--keep-days=nan"), {2}),
    (("hub", "--bind=nowhere"), {1, 2}),
    (("hub", "--prometheus=:"), {1, 2}),
    (("hub", "--otlp=ftp://x"), {1, 2}),
    (("map", "model.json", "--limit", f"{_NINES}GiB"), {2}),
    (("map", "model.json", f"--measured={_NINES}=1GiB"), {2}),
    (("map", "model.json", "--measured=32=9999999999999TiB"), {2}),
    (("map", "model.json", "--measured=-5=1GiB"), {2}),
    (("map", "model.json", "--batch=0"), {2}),
    (("export", "last", "-o", "/"), {1, 2}),
    (("report", "last", "-o", "/"), {1, 2}),
    (("hub", "dashboard", "-o", "/"), {1, 2}),
    (("demo", "--seconds", "inf"), {2}),
    (("demo", "--seconds", "nan"), {2}),
    (("demo", "--folds=-1"), {2}),
    (("demo", f"--epochs={_NINES}"), {2}),
    (("run", "--", ""), {1, 2}),
    (("run", "--", "/proc/nonexistent/program"), {127}),
    (("run",), {2}),
    (("keys", "revoke", ""), {1, 2}),
    (("checkpoints", "last", "--dir", "/proc/nonexistent"), {1}),
    (("checkpoints", "--dir", "/proc/nonexistent", "x"), {1}),
    (("command", "last", "set_limits", "ram=1GiB", "ram=2GiB"), {2}),
    (("command", "last", "nonsense"), {2}),
    (("show", "nobody"), {1}),
    (("show", "last", "--folder", "/proc/nonexistent"), {1}),
    (("runs", "--folder", "/proc/nonexistent"), {1}),
    (("--run",), {2}),
    (("--nonsense",), {2}),
    (("--theme", "pink"), {2}),
    (("--screenshot", "/proc/nonexistent/x.png"), {1, 2}),
    (("nonsense",), {2}),
    (("",), {2}),
    (("purge", "--nonsense"), {2}),
    (("top",), {2}),
    (("compare", "last", "nobody"), {4}),
    (("compare", "last", "last", "--fail-if", "ram>1e400"), {2, 4}),
    (("compare", "/proc/nonexistent.json", "model.json"), {4}),
    (("alerts", "rule", "nonsense"), {2}),
    (("alerts", "set", "--webhook", "ftp://x"), {2}),
    (("completion", "--words", "--", "\udcff"), {0, 2}),
    (("runs", "--state", "asleep"), {2}),
    (("--version",), {0}),
    (("--help",), {0}),
)
"""Lines with the statuses that are right."""

ENVIRONMENTS: Final[tuple[tuple[str, dict[str, str], tuple[str, ...]], ...]] = (
    ("ASCII", {"PYTHONIOENCODING": "ascii", "LANG": "C", "PYTHONUTF8": "0"}, ("runs",)),
    (
        "ASCII show",
        {"PYTHONIOENCODING": "ascii", "LANG": "C", "PYTHONUTF8": "0"},
        ("show", "last"),
    ),
    (
        "C locale",
        {"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        ("runs",),
    ),
    ("ASCII help", {"PYTHONIOENCODING": "ascii", "LANG": "C", "PYTHONUTF8": "0"}, ("--help",)),
    ("ASCII doctor", {"PYTHONIOENCODING": "ascii:strict", "LANG": "C"}, ("doctor",)),
    ("Latin", {"PYTHONIOENCODING": "latin-1"}, ("runs",)),
    ("UTF-16", {"PYTHONIOENCODING": "utf-16"}, ("runs",)),
    *(
        (f"{columns} columns", {"COLUMNS": columns, "LINES": lines}, words)
        for columns, lines in (
            ("0", "0"),
            ("1", "1"),
            ("2", "5"),
            ("99999999999", "1"),
            ("-5", ""),
            ("x", "x"),
        )
        for words in (("--help",), ("show", "--help"), ("runs",), ("show", "last"), ("doctor",))
    ),
    ("an odd zone", {"TZ": "XYZ-99"}, ("runs",)),
    ("an odd zone, show", {"TZ": "XYZ-99"}, ("show", "last")),
    ("an odd zone, report", {"TZ": "XYZ-99"}, ("report", "last", "-o", "r.html")),
    ("no zone", {"TZ": ":/proc/nonexistent"}, ("runs",)),
    (
        "no home",
        {"HOME": "", "KMONITOR_HOME": "", "XDG_STATE_HOME": "", "XDG_CONFIG_HOME": ""},
        ("runs",),
    ),
    ("no home, doctor", {"HOME": "", "KMONITOR_HOME": "", "XDG_STATE_HOME": ""}, ("doctor",)),
    ("a user that is not there", {"KMONITOR_HOME": "~nosuchuser/x"}, ("runs",)),
    ("a user that is not there, doctor", {"KMONITOR_HOME": "~nosuchuser/x"}, ("doctor",)),
    ("a dumb terminal", {"TERM": "dumb", "NO_COLOR": "1"}, ("--help",)),
    ("colours", {"FORCE_COLOR": "1", "TERM": "xterm"}, ("runs",)),
)
"""Environments in which a command ends well: name, variables, command line."""


def fill(folder: Path) -> None:
    """The files that the lines name."""
    (folder / "folder").mkdir()
    (folder / "model.json").write_text("{}", encoding="utf-8")
    (folder / "checkpoint.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(100))
