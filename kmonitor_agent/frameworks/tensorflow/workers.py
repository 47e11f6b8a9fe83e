# pyright: basic
"""Notes that the workers of a TensorFlow strategy leave for each other.

They stand in TensorFlow's coordination service, which MultiWorkerMirroredStrategy starts. Writing
one that is there already fails for whoever comes second: so all read the same, and the first who
writes decides. No collective operation takes part, which all workers would have to run.
"""

import importlib
import sys
from time import monotonic
from typing import Any, Final

from kmonitor_agent.frameworks.missing_names import lacking, not_available

_METHODS: Final = ("set_config_key_value", "get_config_key_value", "delete_config_key_value")
_ROOT: Final = "kmonitor"
_SLICE_S: Final = 1.0
"""TensorFlow waits outside of Python: a Ctrl+C gets through this often, seconds."""


class NoBoard(Exception):
    """Workers cannot reach each other in this way, or not any more.

    Attributes:
        why: The reason, for the user.
    """

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class Board:
    """Notes by name, each written once; on the training thread."""

    def __init__(self, name: str, me: str) -> None:
        """See that notes can be left, and that none is written over.

        Args:
            name: Of the board; the same for all workers.
            me: This worker's name.

        Raises:
            NoBoard: They cannot, or would be.
        """
        self._context = _context()
        self._name = f"{_ROOT}/{name}"
        self.put(f"probe/{me}", me)
        if self.put(f"probe/{me}", me):
            raise NoBoard(
                not_available("TensorFlow", "its coordination service writes values over")
            )

    def put(self, key: str, text: str) -> bool:
        """Leave a note; False where one is already, which stays.

        Raises:
            NoBoard: The service did not answer.
        """
        errors = sys.modules["tensorflow"].errors
        try:
            self._context.set_config_key_value(f"{self._name}/{key}", text)
        except errors.AlreadyExistsError:
            return False
        except errors.OpError as exc:
            raise NoBoard(f"TensorFlow's coordination service failed: {exc.message}") from exc
        return True

    def read(self, key: str, timeout_s: float) -> str | None:
        """A note, waiting for it; None if nobody leaves it in time.

        Raises:
            NoBoard: The service did not answer.
        """
        errors = sys.modules["tensorflow"].errors
        until_s = monotonic() + timeout_s
        while (left_s := until_s - monotonic()) > 0:
            try:
                wait_ms = max(1, int(1000 * min(left_s, _SLICE_S)))
                return self._context.get_config_key_value(f"{self._name}/{key}", wait_ms)
            except errors.DeadlineExceededError:
                continue
            except errors.OpError as exc:
                raise NoBoard(f"TensorFlow's coordination service failed: {exc.message}") from exc
        return None

    def forget(self, key: str) -> None:
        """Take a note away that nobody needs any more.

        Raises:
            NoBoard: The service did not answer.
        """
        errors = sys.modules["tensorflow"].errors
        try:
            self._context.delete_config_key_value(f"{self._name}/{key}")
        except errors.OpError as exc:
            raise NoBoard(f"TensorFlow's coordination service failed: {exc.message}") from exc


def why_no_board() -> str:
    """Why this TensorFlow has none, or none was started; empty when it has."""
    try:
        _context()
    except NoBoard as exc:
        return exc.why
    return ""


def _context() -> Any:
    try:
        context = importlib.import_module("tensorflow.python.eager.context").context()
        config = context.coordination_service
        for name in _METHODS:
            getattr(context, name)
        kind = "" if config is None else str(config.service_type)
    except (ImportError, AttributeError) as exc:
        raise NoBoard(lacking("TensorFlow", exc)) from exc
    if not kind:
        raise NoBoard("the strategy started no coordination service, by which workers could agree")
    return context
