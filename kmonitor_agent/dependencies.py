"""Packages that the agent needs, checked before it uses them.

Not ZeroMQ, which a training without a hub never loads.
"""

from importlib import import_module
from typing import Final

_NEEDED: Final = {
    "msgspec": ("msgspec", "Struct"),
    "platformdirs": ("platformdirs", "user_state_dir"),
    "psutil": ("psutil", "Process"),
}
"""Module to the package that has it, and something that it must have."""


def check_dependencies() -> None:
    """See that every package is there and is what its name says.

    Raises:
        ImportError: One is missing, damaged, or hidden by another module of its name.
    """
    for name, (package, attribute) in _NEEDED.items():
        try:
            found = import_module(name)
        except Exception as exc:
            raise ImportError(f"kmonitor needs {package}: {exc}. {_install(package)}") from exc
        if not hasattr(found, attribute):
            where = getattr(found, "__file__", None) or "sys.modules"
            raise ImportError(
                f"kmonitor needs {package}, but the module {name} in {where} belongs to"
                f" something else or is damaged: it has no {attribute}. {_install(package)}"
            )


def _install(package: str) -> str:
    return f"Install it: python -m pip install --force-reinstall {package}"
