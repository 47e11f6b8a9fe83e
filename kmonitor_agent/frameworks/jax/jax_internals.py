# pyright: basic
"""JAX' names that the agent reads, each looked up when it is used; each may be missing."""

import importlib
import sys
from typing import Any

from kmonitor_agent.frameworks.missing_names import lacking


class JaxInternals:
    """Looks names up; from any thread. JAX must be imported already."""

    def has_started(self) -> bool:
        """Whether JAX has its devices; asking for them before would start them.

        After that a script can no longer choose them.
        """
        try:
            started = _name("jax._src.xla_bridge", "backends_are_initialized")
        except (ImportError, AttributeError):
            # Of a JAX that does not tell: Keras made variables before `fit`, so it has started.
            return True
        return bool(started())

    def device(self) -> Any:
        """The default device of this process.

        Raises:
            AttributeError: This JAX lacks a name.
            RuntimeError: It has no device.
        """
        return _jax().local_devices()[0]

    def client(self) -> Any:
        """What compiles for the default device, and knows what is compiled.

        Raises:
            AttributeError: This JAX lacks a name.
            RuntimeError: It has no device.
        """
        return self.device().client

    def why_not_clear(self) -> str:
        """Why compiled programs cannot be let go of; empty when they can."""
        if not hasattr(_jax(), "clear_caches"):
            return f"compiled programs not cleared: {lacking('JAX', 'clear_caches')}"
        return ""

    def clear(self) -> None:
        """Let go of the process's compiled programs; what is called again is compiled anew."""
        _jax().clear_caches()

    def processes(self) -> int:
        """How many processes train together."""
        count: Any = getattr(_jax(), "process_count", None)
        return int(count()) if count is not None and self.has_started() else 1

    def host_device(self) -> Any:
        """The host as one of JAX' devices; None where the script left it out."""
        try:
            return _jax().local_devices(backend="cpu")[0]
        except (AttributeError, IndexError, RuntimeError):
            return None

    def to_host(self, array: Any) -> Any:
        """An array's value as a numpy array, without a copy that JAX keeps beside the array."""
        numpy = sys.modules["numpy"]
        device = self.host_device()
        if device is None or device in array.devices():
            return numpy.asarray(array)
        # `numpy.asarray` alone keeps what it copied with the array: all state once more in RAM.
        return numpy.asarray(_jax().device_put(array, device))


def _jax() -> Any:
    return sys.modules["jax"]


def _name(module: str, name: str) -> Any:
    return getattr(importlib.import_module(module), name)
