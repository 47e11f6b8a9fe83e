# pyright: basic
"""Traces that a script's own `tf.function`s hold, which nobody but the script can let go."""

import gc
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from kmonitor_agent.frameworks.instances import instances_of
from kmonitor_agent.frameworks.keepers import keeper_of
from kmonitor_agent.frameworks.tensorflow.internals import TensorFlowInternals
from kmonitor_agent.frameworks.tensorflow.tensorflow_names import traced_name

MANY_TRACES: Final = 5
"""From how many traces on a function is named: TensorFlow itself warns of retracing at five."""

_MOST_NAMED: Final = 8


@dataclass(frozen=True, slots=True)
class ManyTraces:
    """A function that holds more traces than it should need, or one that is made again and again.

    Attributes:
        name: Its Python name.
        traces: How many it holds; of one made again and again, all of that name together.
        why: What its traces differ in: "300 shapes", "40 Python values"; "made 40 times"; empty
            if not told.
        keeper: The script's variable or attribute that keeps all that were made; empty if not
            known.
    """

    name: str
    traces: int
    why: str = ""
    keeper: str = ""

    def __str__(self) -> str:
        """One line for a record."""
        kept = f", kept in `{self.keeper}`" if self.keeper else ""
        told = f", {self.why}{kept}" if self.why else ""
        return f"{self.traces} traces held by `{self.name}` (a tf.function of the script{told})"


def functions_with_many_traces(
    internals: TensorFlowInternals, but: Iterable[str] = ()
) -> list[ManyTraces]:
    """The script's functions with `MANY_TRACES` or more, alone or together, most first, at most 8.

    Only when there are such does it look through all objects for them: tens of milliseconds.

    Args:
        internals: Where registered functions are listed.
        but: Names to leave out: Keras' own.
    """
    names = Counter(
        traced_name(name.decode("utf-8", "replace")) for _, name in list(internals.functions or ())
    )
    suspects = {name for name, count in names.items() if name and count >= MANY_TRACES}
    suspects -= set(but)
    if not suspects:
        return []
    alive = tuple(_alive(suspects))
    found = [each for function in alive if (each := _read(function)) is not None]
    found += _made_again(alive, suspects - {each.name for each in found})
    # What the script froze for the garbage collector is not listed: its name and count are.
    hidden = suspects - {each.name for each in found} if gc.get_freeze_count() else set[str]()
    found += [ManyTraces(name, names[name]) for name in hidden]
    return sorted(found, key=lambda each: -each.traces)[:_MOST_NAMED]


def _alive(names: set[str]) -> Iterator[Any]:
    types = getattr(getattr(sys.modules.get("tensorflow"), "types", None), "experimental", None)
    kind = getattr(types, "PolymorphicFunction", None)
    if kind is None:
        return
    for found in instances_of([kind]):
        if getattr(found, "__name__", "") in names:
            yield found


def _made_again(alive: tuple[Any, ...], suspects: set[str]) -> Iterator[ManyTraces]:
    """Names of which no function has many traces, but of which many functions have some."""
    for name in suspects:
        made = tuple([each for each in alive if each.__name__ == name and _count(each)])
        if len(made) >= MANY_TRACES:
            n = sum(map(_count, made))
            yield ManyTraces(name, n, f"made {len(made)} times", keeper_of(made))


def _count(function: Any) -> int:
    try:
        return len(function._list_all_concrete_functions())  # noqa: SLF001 - may be missing
    except (AttributeError, TypeError, ValueError, RuntimeError):
        return 0


def _read(function: Any) -> ManyTraces | None:
    try:
        traces = function._list_all_concrete_functions()  # noqa: SLF001 - looked for, may be missing
        if len(traces) < MANY_TRACES:
            return None
        return ManyTraces(function.__name__, len(traces), _differences(traces))
    except (AttributeError, TypeError, ValueError, RuntimeError):
        return None


def _differences(traces: list[Any]) -> str:
    tf = sys.modules["tensorflow"]
    shapes: set[str] = set()
    values: set[str] = set()
    for trace in traces:
        leaves = tf.nest.flatten(trace.structured_input_signature)
        shapes.add(repr([str(leaf.shape) for leaf in leaves if isinstance(leaf, tf.TensorSpec)]))
        values.add(repr([repr(leaf) for leaf in leaves if not isinstance(leaf, tf.TensorSpec)]))
    parts = [(len(shapes), "shapes"), (len(values), "Python values")]
    return ", ".join(f"{count} {what}" for count, what in parts if count > 1)
