# pyright: basic
"""The tf.functions of a Keras step, and TensorFlow's count of how often they are traced.

TensorFlow warns when 5 of the last calls of a function were traced anew, and counts by the
function's code: all models share Keras' step functions, training and validation too. A reload
drops a model's traces and so causes new ones. Each that only replaces a dropped one is counted as
the ordinary call that it would have been, so that TensorFlow warns exactly when it would without
the reload: neither sooner, nor later, nor not at all.
"""

import weakref
from collections.abc import Iterator, Mapping
from types import FunctionType
from typing import Any, Final

from kmonitor_agent.frameworks.closures import closure_values
from kmonitor_agent.frameworks.missing_names import not_available
from kmonitor_agent.frameworks.tensorflow_internals import TensorFlowInternals

_CLOSURE_DEPTH: Final = 4


def traced_functions(step: Any) -> Iterator[Any]:
    """Every tf.function that a step function consists of, each once; none when run eagerly.

    Keras 3.6 gives a tf.function around others, newer ones a plain function around them.
    """
    todo, seen = [step], {id(step): step}
    while todo:
        found = todo.pop()
        if hasattr(found, "experimental_get_tracing_count"):
            yield found
            found = getattr(found, "python_function", None)
        if isinstance(found, FunctionType):
            inner = {id(value): value for value in closure_values(found, _CLOSURE_DEPTH)}
            todo.extend(value for key, value in inner.items() if key not in seen)
            seen |= inner


Traced = Mapping[Any, frozenset[tuple[Any, Any]]]
"""What TensorFlow counts a function by, to (context, type) of each trace that it had."""


def traces_of(step: Any, internals: TensorFlowInternals) -> Traced:
    """What the functions of a step, about to be dropped, need not be traced for.

    Args:
        step: Train, test or predict function.
        internals: Where TensorFlow counts; a name that is missing there costs the answer only.
    """
    traced: dict[Any, frozenset[tuple[Any, Any]]] = {}
    counts = internals.tracing_counts
    if counts is None:
        return traced
    try:
        for function in traced_functions(step):
            key, known = function._key_for_call_stats, frozenset(_traces(function))  # noqa: SLF001
            if isinstance(key, _Key):  # a reload made this one
                known |= key.known
                key = key.counted_by
            traced[key] = traced.get(key, frozenset()) | known
    except (AttributeError, TypeError) as exc:
        _note(internals, exc)
    return traced


def count_as_before(step: Any, traced: Traced, internals: TensorFlowInternals) -> None:
    """Let a step that was made again be counted as the one before, which had those traces.

    Args:
        step: The new function.
        traced: `traces_of` the one that it replaces.
        internals: Where TensorFlow counts; does nothing where a name is missing.
    """
    counts = internals.tracing_counts
    if counts is None:
        return
    try:
        for function in traced_functions(step):
            counted_by = function._key_for_call_stats  # noqa: SLF001
            known = traced.get(counted_by)
            # One that has traces now was not made again: the script keeps it elsewhere.
            if not known or any(_traces(function)):
                continue
            key = _Key(counted_by, known)
            detector = _Detector(counts, counted_by, known, function)
            with counts._lock:  # noqa: SLF001
                counts._detectors[key] = detector  # noqa: SLF001
            function._key_for_call_stats = key  # noqa: SLF001
    except (AttributeError, TypeError) as exc:
        _note(internals, exc)


class _Key:
    """What a function that was made again is counted by; lives as long as the function."""

    __slots__ = ("__weakref__", "counted_by", "known")

    def __init__(self, counted_by: Any, known: frozenset[tuple[Any, Any]]) -> None:
        self.counted_by = counted_by
        self.known = known


class _Detector:
    """Stands before TensorFlow's own detector, for one function that was made again.

    Its methods run within the script's calls and under TensorFlow's lock: what is ours there never
    raises. It must hold neither its key nor its function, or both would live forever.
    """

    __slots__ = ("_counted_by", "_counts", "_found", "_function", "_known")

    def __init__(
        self, counts: Any, counted_by: Any, known: frozenset[tuple[Any, Any]], function: Any
    ) -> None:
        self._counts = counts
        self._counted_by = counted_by
        self._known = known
        self._function = weakref.ref(function)
        self._found: Any = None

    def __getattr__(self, name: str) -> Any:
        """Whatever else TensorFlow asks of a detector."""
        return getattr(self._own(), name)

    def called_without_tracing(self) -> None:
        """An ordinary call."""
        self._count(None)

    def called_with_tracing(self, *args: Any, **named: Any) -> None:
        """A call that was traced: counted so unless the function before had that trace."""
        self._count(None if self._is_known() else (args, named))

    def _count(self, traced: tuple[tuple[Any, ...], dict[str, Any]] | None) -> None:
        """Have TensorFlow's own count a call, and what it was traced with if it was."""
        try:
            own = self._own()
            if traced is None:
                own.called_without_tracing()
            else:
                own.called_with_tracing(*traced[0], **traced[1])
        except Exception:  # noqa: BLE001, S110 - within the script's own call: one warning at most is lost
            pass

    def _own(self) -> Any:
        # Looked up late: a function that only others call while they are traced is not counted.
        if self._found is None:
            self._found = self._counts._get_detector(self._counted_by)  # noqa: SLF001
        return self._found

    def _is_known(self) -> bool:
        try:
            *_, (context, newest) = _traces(self._function())
            return (context, newest) in self._known or any(
                context == other and signature.is_supertype_of(newest)
                for other, signature in self._known
            )
        except Exception:  # noqa: BLE001 - within the script's own call, which must not fail for us
            return False


def _traces(function: Any) -> Iterator[tuple[Any, Any]]:
    # Oldest first. The scope says whether variables may be made, as in a first call: not compared.
    for context, signature in function._function_cache._primary:  # noqa: SLF001
        yield getattr(context, "context", context), signature


def _note(internals: TensorFlowInternals, exc: Exception) -> None:
    why = not_available("TensorFlow", f"it counts traces in a way that is not known ({exc})")
    internals.missing.setdefault("tracing_counts", why)
