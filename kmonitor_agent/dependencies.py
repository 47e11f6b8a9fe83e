"""Packages that the agent needs, checked before it uses them.

ZeroMQ is not among them: a training without a hub never loads it.
"""

from importlib import import_module
from typing import Final

_NEEDED: Final = {
    "msgspec": ("msgspec", "Struct"),
    "platformdirs": ("platformdirs", "user_state_dir"),
    "psutil": ("psutil", "Process"),
}
"""Module name to its package and an attribute that it must have."""


def check_dependencies() -> None:
    """Check that every package is installed and has the expected attribute.

    Raises:
        ImportError: A package is missing, damaged, or hidden by another module of its name.
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
