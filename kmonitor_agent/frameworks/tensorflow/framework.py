# pyright: basic
"""Keras 3 on TensorFlow, the framework that the agent knows best."""

import sys
from collections.abc import Callable

from kmonitor_agent.frameworks.base import (
    AllocatorReadings,
    FitFacts,
    FrameworkInfo,
    GraphCount,
    KerasModel,
    ModelDescription,
    ReclaimSteps,
    TraceHolder,
    missing_name_text,
)
from kmonitor_agent.frameworks.model_facts import (
    read_description,
    read_fit_facts,
    read_learning_rate,
)
from kmonitor_agent.frameworks.tensorflow.graphs import GraphInventory
from kmonitor_agent.frameworks.tensorflow.internals import (
    TensorFlowInternals,
    find_internals,
    newest_number,
)
from kmonitor_agent.frameworks.tensorflow.memory import TensorFlowAllocator
from kmonitor_agent.frameworks.tensorflow.reclaim import Keras3TensorFlowReclaim
from kmonitor_agent.frameworks.tensorflow.traces import (
    STEP_FUNCTIONS,
    RetainedTraces,
    functions_with_many_traces,
)
from kmonitor_agent.wire.messages.readings import Reading

StepsMaker = Callable[[TensorFlowInternals, RetainedTraces, GraphInventory], ReclaimSteps]


class TensorFlowFramework:
    """Reads and reclaims a Keras on TensorFlow in eager mode: Keras 3, and tf_keras by its steps.

    Made on the training thread, which owns it; `function_count` and `allocator` may be called
    from any thread.
    """

    def __init__(
        self, *, versions: dict[str, str], make_steps: StepsMaker = Keras3TensorFlowReclaim
    ) -> None:
        self._internals = find_internals()
        self._retained = RetainedTraces(self._internals)
        self._inventory = GraphInventory(self._internals, self._retained)
        self._allocator = TensorFlowAllocator(self._internals)
        self._steps = make_steps(self._internals, self._retained, self._inventory)
        self._framework_info = FrameworkInfo(
            backend="tensorflow",
            versions=versions,
            unavailable=_unavailable(self._internals, self._retained),
        )

    def info(self) -> FrameworkInfo:
        """Facts from the time when TensorFlow was first used."""
        return self._framework_info

    def fit_facts(self, model: KerasModel) -> FitFacts:
        return read_fit_facts(model)

    def learning_rate(self, model: KerasModel) -> Reading:
        return read_learning_rate(model)

    def describe(self, model: KerasModel) -> ModelDescription:
        return read_description(model)

    def graph(self, model: KerasModel | None) -> GraphCount:
        """Graph size of the process; see `graphs` for the definition."""
        return self._inventory.count()

    def function_count(self) -> Reading:
        """Functions registered with the runtime; any thread."""
        functions = self._internals.functions
        if functions is None:
            return Reading.missing("functions", self._internals.missing["functions"])
        return Reading(float(len(functions)), "functions", "tensorflow: registered functions")

    def functions_made(self) -> Reading:
        """Number that TensorFlow gave to the newest function that is registered."""
        number = newest_number(self._internals.functions or {})
        if number is None:
            return self.function_count()
        return Reading(float(number), "functions", "tensorflow: the newest registered function")

    def allocator(self) -> AllocatorReadings:
        """Allocator of the first GPU, else of the CPU device; any thread."""
        return self._allocator.read()

    def trace_holders(self) -> tuple[TraceHolder, ...]:
        return tuple(functions_with_many_traces(self._internals, but=STEP_FUNCTIONS))

    def reclaim_steps(self) -> ReclaimSteps | None:
        """The steps; `info().unavailable` says what they cannot do."""
        return self._steps


def _unavailable(internals: TensorFlowInternals, retained: RetainedTraces) -> dict[str, str]:
    unavailable: dict[str, str] = {}
    if retained.why_unavailable():
        unavailable["collect"] = retained.why_unavailable()
    if internals.functions is None:
        unavailable["graph"] = internals.missing["functions"]
    tf = sys.modules.get("tensorflow")
    experimental = getattr(getattr(tf, "config", None), "experimental", None)
    if not hasattr(experimental, "get_memory_info"):
        unavailable["allocator"] = missing_name_text("TensorFlow", "get_memory_info")
    return unavailable
