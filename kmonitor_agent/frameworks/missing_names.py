"""How it is said that a version of a framework lacks what kmonitor reads of it."""

import sys
from typing import Final

_MODULES: Final = {
    "JAX": "jax",
    "Keras": "keras",
    "PyTorch": "torch",
    "TensorFlow": "tensorflow",
    "tf_keras": "tf_keras",
}


def not_available(framework: str, why: str) -> str:
    """Not available with this version, and why.

    Args:
        framework: "JAX", "Keras", "PyTorch", "TensorFlow" or "tf_keras".
        why: What is other with it, with "it" for the framework.
    """
    version = getattr(sys.modules.get(_MODULES[framework]), "__version__", "")
    return f"not available with {f'{framework} {version}'.strip()} because {why}"


def lacking(framework: str, name: object) -> str:
    """Not available since a name is not there.

    Args:
        framework: As for `not_available`.
        name: The name, or the error that says which.
    """
    return not_available(framework, f"it lacks a name that kmonitor reads ({name})")
