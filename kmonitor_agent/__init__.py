"""The part of kmonitor that runs inside a training.

    from kmonitor_agent import Limit, MonitorCallback

    model.fit(x, y, callbacks=[MonitorCallback(limits=[Limit("ram", "80%", action="reload")])])

`MonitorCallback` watches `fit`; `Limit` acts on a metric; `collect` and `collected` free memory
between the models of a loop; `fit` trains with reloads that create a new model object; `restore`
loads a checkpoint into a model; `run_folds` runs each `Fold` in a process of its own and returns a
`Study`, or raises `FoldsRefused`.

Importing this package loads no framework and takes milliseconds; names resolve on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from kmonitor_agent.wire.release import VERSION

if TYPE_CHECKING:
    from kmonitor_agent.callback import MonitorCallback
    from kmonitor_agent.collecting import Collected, collect, collected
    from kmonitor_agent.fitting import Fitted, fit
    from kmonitor_agent.restoring import restore
    from kmonitor_agent.studies.carried_function import FoldsRefused
    from kmonitor_agent.studies.fold import Fold
    from kmonitor_agent.studies.run_folds import FoldResult, Study, run_folds
    from kmonitor_agent.wire.limits import Limit

__version__: Final = VERSION

__all__ = [
    "Collected",
    "Fitted",
    "Fold",
    "FoldResult",
    "FoldsRefused",
    "Limit",
    "MonitorCallback",
    "Study",
    "__version__",
    "collect",
    "collected",
    "fit",
    "restore",
    "run_folds",
]

_HOMES: Final = {
    "Collected": "kmonitor_agent.collecting",
    "Fitted": "kmonitor_agent.fitting",
    "Fold": "kmonitor_agent.studies.fold",
    "FoldResult": "kmonitor_agent.studies.run_folds",
    "FoldsRefused": "kmonitor_agent.studies.carried_function",
    "Limit": "kmonitor_agent.wire.limits",
    "MonitorCallback": "kmonitor_agent.callback",
    "Study": "kmonitor_agent.studies.run_folds",
    "collect": "kmonitor_agent.collecting",
    "collected": "kmonitor_agent.collecting",
    "fit": "kmonitor_agent.fitting",
    "restore": "kmonitor_agent.restoring",
    "run_folds": "kmonitor_agent.studies.run_folds",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # First: what is missing is to be named with what installs it.
    import_module("kmonitor_agent.dependencies").check_dependencies()
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
