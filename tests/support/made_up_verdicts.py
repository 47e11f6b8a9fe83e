"""A verdict with everything in it, for presenters and windows; it fits `made_up_runs`."""

from kmonitor_agent.wire.messages.events import CorrelatedGrowth, LimitForecast, Verdict
from tests.support.made_up_runs import GIB, NOW_WALL_S

__all__ = ["GIB", "LEAK", "NOW_WALL_S"]

LEAK = Verdict(
    t_s=3650.0,
    metric="ram",
    state="suspected",
    per="epoch",
    units=36,
    unit=36,
    turned=True,
    from_s=610.0,
    to_s=3650.0,
    window=30,
    slope=0.46 * GIB,
    slope_low=0.41 * GIB,
    slope_high=0.49 * GIB,
    rise=13.2 * GIB,
    cause="retained_traces",
    sureness="counted",
    name="one_step_on_iterator",
    grew_with=[
        CorrelatedGrowth("retained", 2.0, 1.9, 2.1),
        CorrelatedGrowth("traces", 2.0, 1.9, 2.1, "one_step_on_iterator"),
    ],
    advice=["collect", "reload", "restart", "build_once", "run_folds"],
    forecast=LimitForecast(80 * GIB, "own", 14.2, 10.4, 20.7, 100.0),
)
