# pyright: basic
"""Framework of a model and resumer of its fits, by its classes; no Keras is imported for it."""

import sys
from collections.abc import Iterator
from functools import partial
from typing import Final

from kmonitor_agent.frameworks.base import (
    AllocatorReadings,
    FitFacts,
    Framework,
    FrameworkInfo,
    GraphCount,
    KerasModel,
    ModelDescription,
    ReclaimSteps,
)
from kmonitor_agent.frameworks.jax.framework import JaxFramework
from kmonitor_agent.frameworks.keras3.resuming import Keras3FitResumer
from kmonitor_agent.frameworks.model_facts import (
    read_description,
    read_fit_facts,
    read_learning_rate,
)
from kmonitor_agent.frameworks.resuming import FitResumer
from kmonitor_agent.frameworks.script_values import class_bases, class_module
from kmonitor_agent.frameworks.tensorflow.framework import TensorFlowFramework
from kmonitor_agent.frameworks.tf_keras.graph_mode import V1GraphFramework
from kmonitor_agent.frameworks.tf_keras.reclaim import TfKerasReclaim
from kmonitor_agent.frameworks.tf_keras.resuming import TfKerasFitResumer, is_keras2
from kmonitor_agent.frameworks.torch.framework import TorchFramework
from kmonitor_agent.wire.messages.readings import Reading


class UnknownFramework:
    """A backend whose internals are not read; public attributes of Keras models still are."""

    def __init__(
        self, why: str, *, backend: str = "", versions: dict[str, str] | None = None
    ) -> None:
        self._why = why
        self._framework_info = FrameworkInfo(
            backend=backend,
            versions=versions or {},
            unavailable=dict.fromkeys(("save", "collect", "reload", "graph", "allocator"), why),
        )

    def info(self) -> FrameworkInfo:
        """Versions; everything that needs internals is unavailable."""
        return self._framework_info

    def fit_facts(self, model: KerasModel) -> FitFacts:
        return read_fit_facts(model)

    def learning_rate(self, model: KerasModel) -> Reading:
        """The optimizer's learning rate if it has one that can be read."""
        return read_learning_rate(model)

    def describe(self, model: KerasModel) -> ModelDescription:
        return read_description(model)

    def graph(self, model: KerasModel | None) -> GraphCount:
        return GraphCount(operations=None, absent=self._why)

    def function_count(self) -> Reading:
        return Reading.missing("functions", self._why)

    def functions_made(self) -> Reading:
        return self.function_count()

    def allocator(self) -> AllocatorReadings:
        return AllocatorReadings.missing("", self._why)

    def reclaim_steps(self) -> ReclaimSteps | None:
        return None


_KNOWN: Final = "kmonitor supports Keras on TensorFlow, JAX and PyTorch"
_known: dict[str, Framework] = {}
_loaded: dict[str, Framework] = {}


def framework_for(model: KerasModel) -> Framework:
    """Framework of a model; the same object for all models of a kind in this process.

    The framework holds counts so far, and belongs to the thread that trains.
    """
    return _framework_of(_kind(type(model)))


def imported_framework() -> Framework | None:
    """Framework of models of the imported Keras, the one of `framework_for`; None: no Keras."""
    return next(map(_framework_of, _imported_kinds()), None)


def loaded_frameworks() -> list[Framework]:
    """One framework for each Keras that this process has imported, the same objects each time.

    They are not those of `framework_for`, which belong to the threads that train: one thread at a
    time may use these.
    """
    kinds = set(_imported_kinds())
    for kind in kinds - _loaded.keys():
        _loaded[kind] = _make(kind)
    return [_loaded[kind] for kind in sorted(kinds)]


def _framework_of(kind: str) -> Framework:
    if kind not in _known:
        _known[kind] = _make(kind)
    return _known[kind]


def _imported_kinds() -> Iterator[str]:
    models = (getattr(sys.modules.get(name), "Model", None) for name in ("keras", "tf_keras"))
    return filter(None, (_kind(model) for model in models if isinstance(model, type)))


def fit_resumer(model: KerasModel) -> FitResumer:
    return TfKerasFitResumer() if is_keras2(model) else Keras3FitResumer()


def forget_frameworks() -> None:
    """Forget all detected frameworks, so that the next model is probed again (for tests)."""
    _known.clear()
    _loaded.clear()


def _kind(model_class: type) -> str:
    roots = {class_module(cls).partition(".")[0] for cls in class_bases(model_class)}
    if "tf_keras" in roots:
        return f"tf_keras{_mode()}"
    if "keras" not in roots:
        return ""
    keras = sys.modules.get("keras")
    if str(getattr(keras, "__version__", "")).startswith("2."):
        return f"keras2{_mode()}"
    try:
        return f"keras3-{keras.backend.backend()}"  # pyright: ignore[reportOptionalMemberAccess]
    except AttributeError:
        return ""


def _mode() -> str:
    # `disable_eager_execution()` holds for the whole process and cannot be taken back.
    v1 = getattr(getattr(sys.modules.get("tensorflow"), "compat", None), "v1", None)
    is_eager = getattr(v1, "executing_eagerly_outside_functions", None)
    return "-v1" if callable(is_eager) and not is_eager() else ""


def _make(kind: str) -> Framework:
    match kind:
        case "keras3-tensorflow":
            return TensorFlowFramework(versions=_versions("keras", "tensorflow"))
        case "keras3-jax":
            return JaxFramework(versions=_versions("keras", "jax"))
        case "keras3-torch":
            return TorchFramework(versions=_versions("keras", "torch"))
        case "tf_keras" | "keras2" | "tf_keras-v1" | "keras2-v1":
            return _keras2("tf_keras" if kind.startswith("tf_keras") else "keras")
        case "":
            return UnknownFramework("the model is not a Keras model that kmonitor supports")
        case _:
            backend = kind.partition("-")[2]
            return UnknownFramework(
                f"not available with Keras on {backend}: {_KNOWN}",
                backend=backend,
                versions=_versions("keras", backend),
            )


def _keras2(package: str) -> Framework:
    versions = _versions(package, "tensorflow")
    if _mode():
        return V1GraphFramework(versions=versions, package=package)
    return TensorFlowFramework(
        versions=versions, make_steps=partial(TfKerasReclaim, package=package)
    )


def _versions(*packages: str) -> dict[str, str]:
    versions = {name: getattr(sys.modules.get(name), "__version__", "") for name in packages}
    return {name: str(version) for name, version in versions.items() if version}
