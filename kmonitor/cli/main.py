"""The command `kmonitor`: which subcommands there are, and how failures reach the user."""

import os
import sys
from collections.abc import Callable, Sequence

from cyclopts import App, CycloptsError

from kmonitor import __version__
from kmonitor.cli.statuses import BROKEN_PIPE, DONE, FAILED, INTERRUPTED, USAGE
from kmonitor.cli.terminal import complain
from kmonitor.cli.window import window
from kmonitor.errors import Expected

HELP = """
Watch Keras trainings live: graph size, RAM, VRAM and step time; save, clear and reload a
training in the middle without changing its result.

In your script, two lines:

```
from kmonitor_agent import MonitorCallback
model.fit(..., callbacks=[MonitorCallback()])
```

Then, here:

```
kmonitor                              open the window
kmonitor demo                         watch a real training that leaks, and its rescue
kmonitor runs                         list the trainings of this user
kmonitor show last                    what the newest one did and does
kmonitor command last reload --wait   save, clear and reload it now, print the record
kmonitor doctor                       what is missing here, and what to do about it
```

Every command has its own help: `kmonitor show --help`. `KMONITOR_HOME=DIR` keeps every file
and socket of agent, hub and app below DIR.
"""

_SUBCOMMANDS = {
    "demo": "kmonitor.cli.demo:demo",
    "runs": "kmonitor.cli.runs:runs",
    "show": "kmonitor.cli.show:show",
    "command": "kmonitor.cli.command:command",
    "export": "kmonitor.cli.export:export",
    "hub": "kmonitor.cli.hub:app",
    "doctor": "kmonitor.cli.doctor:doctor",
    "purge": "kmonitor.cli.purge:purge",
}


def build_app() -> App:
    """The command line; a subcommand's module is imported only when it is called or explained."""
    app = App(
        name="kmonitor",
        help=HELP,
        version=f"kmonitor {__version__}",
        help_format="markdown",
        result_action="return_value",
        exit_on_error=False,
        print_error=False,
    )
    app.default(window)
    for name, where in _SUBCOMMANDS.items():
        app.command(where, name=name)
    return app


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line.

    Args:
        arguments: Without the program's name; None: those of the process.

    Returns:
        The exit status.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        status = _guarded(lambda: build_app()(given))
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader (`| head`) has left: what remains in the buffer has nowhere to go, and
        # Python's own flush at exit would complain about it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    return status


def _guarded(call: Callable[[], object]) -> int:
    try:
        result = call()
    except CycloptsError as exc:
        complain(f"kmonitor: {exc}")
        complain("See: kmonitor --help, or kmonitor COMMAND --help")
        return USAGE
    except Expected as exc:
        complain(f"kmonitor: {exc.what}")
        if exc.remedy:
            complain(exc.remedy)
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    return result if isinstance(result, int) else DONE


if __name__ == "__main__":
    raise SystemExit(main())
