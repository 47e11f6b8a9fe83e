"""Limits on the graph: judged by a count of it, or said to be unwatched where there is none."""

from kmonitor_agent.frameworks.base import GraphCount
from kmonitor_agent.recording.limit_enforcer import Bound, LimitKeeper


def judge_graph(limits: LimitKeeper, graph: GraphCount) -> None:
    """Judge the limits on `graph` and `functions`; without a count nothing is judged."""
    if graph.operations is not None:
        limits.observe("graph", Bound(float(graph.operations)))
        limits.observe("functions", Bound(float(graph.functions)))


def tell_graph_unwatched(limits: LimitKeeper, graph: GraphCount) -> None:
    """Say once why there is no count, where there is none."""
    if graph.operations is None:
        limits.tell_unwatched("graph", graph.absent)
        limits.tell_unwatched("functions", graph.absent)
