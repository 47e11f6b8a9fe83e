"""Measures and traces models, each in a separate process that has TensorFlow imported already.

To import it takes longer than most measurements; what has imported it and done nothing else can
be forked.
"""

import importlib
import json
import os
import subprocess
import sys
from types import TracebackType
from typing import Any, Self


class NoAnswer(Exception):
    """A question without an answer from its process; others can be asked."""


class MapChildren:
    """Has a process fork another one for each request; to be used with `with`."""

    def __enter__(self) -> Self:
        environ = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}
        self._parent = subprocess.Popen(
            [sys.executable, "-m", "tests.support.map_children"],
            env=environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:  # fmt: skip
        assert self._parent.stdin is not None
        self._parent.stdin.close()
        self._parent.wait()

    def measured(self, name: str, batch: int, optimizer: str = "adam") -> dict[str, Any]:
        """Result of `map_measuring`."""
        return json.loads(self._answer("measured", name, batch, optimizer))

    def traced(self, name: str, optimizer: str = "adam") -> str:
        """A step's program as JSON."""
        return self._answer("traced", name, 0, optimizer)

    def _answer(self, *question: str | int) -> str:
        assert self._parent.stdin is not None
        assert self._parent.stdout is not None
        print(json.dumps(question), file=self._parent.stdin, flush=True)
        for line in self._parent.stdout:  # what models print comes before
            if line.startswith("{"):
                return line
            if line.startswith(_FAILED):
                raise NoAnswer(line.removeprefix(_FAILED).strip())
        raise RuntimeError(f"no answer to {question}")


_FAILED = "failed: "


def _tell(what: str, name: str, batch: int, optimizer: str) -> str:
    import msgspec  # noqa: PLC0415 - only in the child

    from kmonitor_agent.frameworks.tensorflow.step_program import trace_training_step  # noqa: PLC0415
    from tests.support.all_models import compiled  # noqa: PLC0415
    from tests.support.map_measuring import measured  # noqa: PLC0415

    if what == "measured":
        return json.dumps(measured(name, batch, optimizer))
    return msgspec.json.encode(trace_training_step(compiled(name, optimizer))).decode()


def _main() -> None:
    importlib.import_module("tests.support.all_models")  # Keras and TensorFlow; nothing has run
    for line in sys.stdin:
        child = os.fork()
        if not child:
            try:
                answer = _tell(*json.loads(line))
            except Exception as exc:  # noqa: BLE001 - goes to the caller
                answer = f"{_FAILED}{type(exc).__name__} {exc}".splitlines()[0]
            print(answer, flush=True)  # noqa: T201 - the answer
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if status:
            print(f"{_FAILED}it ended by {status}", flush=True)  # noqa: T201 - the answer


if __name__ == "__main__":
    _main()
