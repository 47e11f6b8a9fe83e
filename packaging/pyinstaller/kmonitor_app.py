"""Start of the packed app.

kmonitor starts its hub and its other processes with `sys.executable -m ...`. In the packed
app that is the app itself, so it understands the few ways of calling Python that kmonitor uses.
"""

import os
import runpy
import sys
from collections.abc import MutableMapping

_ALONE = frozenset({"-P", "-S", "-I"})
"""Options that keep a Python from looking for modules elsewhere: nothing is looked for here."""

_LOADER_PATHS = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "LIBPATH")


def main(arguments: list[str], environ: MutableMapping[str, str]) -> int:
    """Open the app, or run what a Python would have run; gives the exit status.

    Args:
        arguments: Without the program's name.
        environ: Variables of the process; changes by the start of the app are reverted.
    """
    _restore_library_path(environ)
    words = list(arguments)
    while words and words[0] in _ALONE:
        words.pop(0)
    if words[:1] == ["-m"] and len(words) > 1:
        sys.argv = words[1:]
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
        return 0
    if words[:1] == ["-c"] and len(words) > 1:
        sys.argv = ["-c", *words[2:]]
        exec(compile(words[1], "<string>", "exec"), {"__name__": "__main__"})  # noqa: S102
        return 0
    from kmonitor.cli.entry import main as kmonitor_main  # noqa: PLC0415

    return kmonitor_main(list(arguments))


def _restore_library_path(environ: MutableMapping[str, str]) -> None:
    """Let ssh, a user's Python and other foreign programs load their own libraries, not ours.

    Source: PyInstaller's manual, "LD_LIBRARY_PATH / LIBPATH considerations".
    """
    for name in _LOADER_PATHS:
        before = environ.pop(f"{name}_ORIG", None)
        if before is not None:
            environ[name] = before
        elif hasattr(sys, "_MEIPASS"):
            environ.pop(name, None)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))
