"""Statements of a diagnosis on the holders of traces."""

from types import SimpleNamespace
from typing import Any, cast

from kmonitor_agent.frameworks.base import GraphCount, TraceHolder
from kmonitor_agent.recording.diagnosis import Diagnoser
from kmonitor_agent.recording.privacy import Privacy
from kmonitor_agent.wire.messages.events import Diagnosis, Event, FunctionTraces


class Holding:
    """A framework in which a small function of the script and dead models hold traces."""

    def graph(self, model: object) -> GraphCount:
        del model
        return GraphCount(
            operations=2_600,
            by_function=(
                FunctionTraces(name="step", traces=8, operations=2_274, retained=4),
                FunctionTraces("fit", traces=3, operations=1_000, retained=2, disused=2),
                FunctionTraces(name="loss", traces=1, operations=306),
                FunctionTraces(name="my_step", traces=5, operations=20),
                FunctionTraces(name="fresh", traces=7, operations=14),
            ),
        )

    def trace_holders(self) -> tuple[TraceHolder, ...]:
        return (
            TraceHolder("my_step", 5, "5 shapes"),
            TraceHolder("fresh", 7, "created 7 times", "kept"),
        )


def test_holders_of_most_dead_operations_lead_and_then_who_is_in_use():
    events: list[Event] = []
    diagnoses = Diagnoser(emit=events.append, now_s=lambda: 1.0, privacy=Privacy(private=False))
    fit = cast("Any", SimpleNamespace(framework=Holding(), ordinal=1, epoch=0))

    _, why = diagnoses.diagnose(fit, None)
    diagnoses.follow_up(fit)

    assert why == ""
    found, _ = [each for each in events if isinstance(each, Diagnosis)]
    assert found.holders == [
        "`step`: 8 traces (4 of them retained for models that no longer exist), 2274 operations",
        "`fit`: 3 traces (2 of them retained though no longer used), 1000 operations",
        "5 traces held by `my_step` (a tf.function in the script, 5 shapes)",
        (
            "7 traces held by `fresh` (a tf.function in the script, created 7 times, retained in"
            " `kept`)"
        ),
        "`loss`: 1 trace, 306 operations",
        "`my_step`: 5 traces, 20 operations",
        "`fresh`: 7 traces, 14 operations",
    ]
