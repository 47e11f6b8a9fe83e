"""Answers where there is no Keras that the agent knows: every one absent, with the reason."""

from kmonitor_agent.frameworks.base import (
    AllocatorReadings,
    FitFacts,
    GraphCount,
    KerasModel,
    ModelDescription,
    Probed,
    ReclaimSteps,
)
from kmonitor_agent.frameworks.model_facts import (
    read_description,
    read_fit_facts,
    read_learning_rate,
)
from kmonitor_agent.wire.messages.reading import Reading


class UnknownFramework:
    """A backend whose internals are not read; what any Keras model says of itself still is."""

    def __init__(
        self, why: str, *, backend: str = "", versions: dict[str, str] | None = None
    ) -> None:
        self._why = why
        self._probed = Probed(
            backend=backend,
            versions=versions or {},
            unavailable=dict.fromkeys(("save", "collect", "reload", "graph", "allocator"), why),
        )

    def probed(self) -> Probed:
        """What is here; everything that needs internals is unavailable."""
        return self._probed

    def fit_facts(self, model: KerasModel) -> FitFacts:
        """What the model says of how it is compiled."""
        return read_fit_facts(model)

    def learning_rate(self, model: KerasModel) -> Reading:
        """The optimizer's learning rate if it has one that can be read."""
        return read_learning_rate(model)

    def describe(self, model: KerasModel) -> ModelDescription:
        """What the model says of its layers and weights."""
        return read_description(model)

    def graph(self, model: KerasModel | None) -> GraphCount:
        """Absent."""
        return GraphCount(operations=None, absent=self._why)

    def function_count(self) -> Reading:
        """Absent."""
        return Reading.missing("functions", self._why)

    def allocator(self) -> AllocatorReadings:
        """Absent."""
        missing = Reading.missing("bytes", self._why)
        return AllocatorReadings(device="", in_use=missing, peak=missing, limit=missing)

    def reclaim_steps(self) -> ReclaimSteps | None:
        """None."""
        return None
