# pyright: basic
"""Which framework a model is of, told from its classes; nothing is imported for it."""

import sys
from typing import Final

from kmonitor_agent.frameworks.base import Framework, KerasModel
from kmonitor_agent.frameworks.keras3_tensorflow import TensorFlowFramework
from kmonitor_agent.frameworks.unknown import UnknownFramework

_LATER: Final = "this version of kmonitor reclaims only with Keras 3 on TensorFlow"
_known: dict[str, Framework] = {}


def framework_for(model: KerasModel) -> Framework:
    """The framework of a model; the same object for all models of a kind in this process.

    It holds what was counted so far, and belongs to the thread that trains.
    """
    kind = _kind(model)
    if kind not in _known:
        _known[kind] = _make(kind)
    return _known[kind]


def forget_frameworks() -> None:
    """Forget what was found, so that the next model is probed anew (tests hide names)."""
    _known.clear()


def _kind(model: KerasModel) -> str:
    roots = {cls.__module__.partition(".")[0] for cls in type(model).__mro__}
    if "tf_keras" in roots:
        return "tf_keras"
    if "keras" not in roots:
        return ""
    keras = sys.modules.get("keras")
    if str(getattr(keras, "__version__", "")).startswith("2."):
        return "tf_keras"
    try:
        return f"keras3-{keras.backend.backend()}"  # pyright: ignore[reportOptionalMemberAccess]
    except AttributeError:
        return ""


def _make(kind: str) -> Framework:
    match kind:
        case "keras3-tensorflow":
            return TensorFlowFramework(versions=_versions("keras", "tensorflow"))
        case "tf_keras":
            versions = _versions("tf_keras", "tensorflow")
            return TensorFlowFramework(
                versions=versions, why_no_reclaim=f"not available with tf_keras: {_LATER}"
            )
        case "":
            return UnknownFramework("the model is no Keras model that kmonitor knows")
        case _:
            backend = kind.partition("-")[2]
            return UnknownFramework(
                f"not available with Keras on {backend}: {_LATER}",
                backend=backend,
                versions=_versions("keras", backend),
            )


def _versions(*packages: str) -> dict[str, str]:
    found = {name: getattr(sys.modules.get(name), "__version__", "") for name in packages}
    return {name: str(version) for name, version in found.items() if version}
