"""Files of ours are opened through `wire.local.private_files`, and nothing sets the umask.

Code that calls `open` directly hangs on a named pipe, follows a link that another user put there,
or reads a sparse file until memory is full.
"""

import ast
import functools
from collections.abc import Iterator

import pytest

from tests.support.source_tree import SourceFile, product_files

METHODS = {
    "read_bytes", "read_text", "write_bytes", "write_text", "touch", "mkdir", "makedirs",
    "truncate",
}  # fmt: skip
CLASSES = {"FileHandler", "RotatingFileHandler", "TimedRotatingFileHandler"}

ALLOWED = {
    "kmonitor_agent/wire/local/private_files.py": "it is the module; /proc",
    "kmonitor_agent/wire/local/file_system.py": "/proc",
    "kmonitor_agent/wire/local/control_groups.py": "/proc and /sys/fs/cgroup",
    "kmonitor_agent/probes/held_memory.py": "/proc",
    "kmonitor_agent/probes/compiled_code.py": "/proc",
    "kmonitor_agent/probes/tasks.py": "/proc",
    "kmonitor_agent/frameworks/kept/filled_arrays.py": "/proc",
    "kmonitor_agent/frameworks/tensorflow/size_formulas.py": "/proc",
    "kmonitor_agent/probes/pressure.py": "/proc and /sys/fs/cgroup",
    "kmonitor_agent/describing/load_child.py": "/proc",
    "kmonitor_agent/studies/fold_process.py": "/sys/fs/cgroup",
    "kmonitor_agent/studies/process_tree.py": "/proc",
    "kmonitor_agent/wire/local/free_resources.py": "/dev/null",
    "kmonitor/cli/common/terminal.py": "/dev/null",
    "kmonitor_agent/studies/ray/node.py": "/proc",
    "kmonitor_agent/reclaim/disk_file.py": "makes a new file with O_EXCL, and opens a folder",
    "kmonitor_agent/reclaim/checkpoints.py": "what Keras has just written",
    "kmonitor/ui/theme/qt/style_sheet.py": "part of the program",
    "kmonitor/ui/theme/qt/theme.py": "part of the program",
    "kmonitor/ui/guide/pages.py": "part of the program",
    "kmonitor/demo/digits.py": "part of the program",
    "kmonitor/base/standard_streams.py": "the system's null device",
    "kmonitor/base/installation.py": "part of the program",
    "kmonitor/ui/shell/qt/crash_controller.py": "the user names it",
    "kmonitor/ui/shell/qt/screenshot.py": "the user names it",
    "kmonitor/base/atomic_file.py": "the user names it",
    "kmonitor/memory/model_files/archive.py": "the user names it, perhaps by a link",
    "kmonitor/memory/model_files/hdf5_child.py": "the user names it",
    "kmonitor/memory/model_files/load_cost.py": "the user names it",
    "kmonitor/memory/model_files/inspection.py": "Keras's own settings",
    "kmonitor/cli/common/desktop_entry.py": "the desktop's folders, below the user's home",
    "kmonitor/cli/completion.py": "part of the program; the shell's files, below the user's home",
    "kmonitor/cli/hub/command.py": "part of the program; systemd's folder",
    "kmonitor/cli/hub/service_unit.py": "systemd's folder, below the user's home",
}
"""File to the reason why it may open a path directly: no other user can have put it there."""

SETS_THE_MASK = {"kmonitor/hub/service.py"}
"""The hub is a process of our own: SQLite makes its files as the mask says."""


@pytest.mark.promise(5)
def test_no_path_is_opened_but_by_the_module_for_it():
    found = [
        f"{file.name}:{line} calls {name}"
        for file in product_files()
        if file.name not in ALLOWED
        for line, name in opens(file)
    ]

    assert found == []


def test_what_is_allowed_still_opens_something():
    used = {file.name for file in product_files() if any(opens(file))}

    assert sorted(set(ALLOWED) - used) == []


def test_nothing_in_a_training_sets_the_umask():
    found = {
        file.name for file in product_files() for _, name, _ in calls(file) if name == "umask"
    }

    assert found == SETS_THE_MASK


def opens(file: SourceFile) -> Iterator[tuple[int, str]]:
    """Calls that open, make or empty something by its path."""
    yield from ((line, name) for line, name, is_opening in calls(file) if is_opening)


@functools.cache
def calls(file: SourceFile) -> tuple[tuple[int, str, bool], ...]:
    """Line and last name of each call, and whether it opens something by its path."""
    return tuple((call.lineno, name, _is_opening(call, name)) for call, name in called(file))


def _is_opening(call: ast.Call, name: str) -> bool:
    is_open = name == "open" and _names_a_mode(call)
    return is_open or name in CLASSES or (name in METHODS and not _is_of_registry(call))


def called(file: SourceFile) -> Iterator[tuple[ast.Call, str]]:
    """Each call with the last part of what is called."""
    for call in file.calls():
        match call.func:
            case ast.Name(id=name) | ast.Attribute(attr=name):
                yield call, name
            case _:
                continue


def _names_a_mode(call: ast.Call) -> bool:
    """The builtin, `os.open`, or `Path.open` with a mode; not a method `open` of ours."""
    match call.func:
        case ast.Name():
            return True
        case ast.Attribute(value=ast.Name(id="os" | "io")):
            return True
        case _:
            return any(_is_mode(each) for each in call.args[:1])


def _is_mode(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) <= 3


def _is_of_registry(call: ast.Call) -> bool:
    """`registry.touch(record)` and `file.truncate(size)` have no path."""
    match call.func:
        case ast.Attribute(attr="touch", value=ast.Attribute(attr=owner) | ast.Name(id=owner)):
            return owner in {"registry", "self"}
        case ast.Attribute(attr="truncate", value=value):
            return not (isinstance(value, ast.Name) and value.id == "os")
        case _:
            return False
