"""A run's columns as charts request them."""

import numpy as np
import pytest

from kmonitor.connect.hub_client import HubClient
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.messages.events import GraphSize
from kmonitor_agent.wire.messages.unions import SeriesReply, ThinnedColumn
from tests.support.simulated_agent import MIB, SimulatedAgent


def points(column: ThinnedColumn) -> tuple[np.ndarray, np.ndarray]:
    return np.frombuffer(column.t_s, "<f8"), np.frombuffer(column.values, "<f8")


@pytest.mark.slow
def test_a_short_series_comes_raw_with_its_source(client: HubClient, folders: Folders):
    with SimulatedAgent(folders) as agent:
        agent.start_fit()
        for second in range(20):
            agent.sample(t_s=float(second), ram_bytes=(100 + second) * MIB)
        agent.wait_acked()
        told = client.series(agent.run, ["ram_bytes", "vram_of_bytes"])

    t_s, values = points(told.columns[0])
    assert list(t_s) == list(range(20))
    assert list(values / MIB) == [100 + second for second in range(20)]
    assert told.columns[0].n_raw == 20
    assert told.columns[1].t_s == b""
    assert [source.field for source in told.sources] == ["ram_bytes"]


@pytest.mark.slow
def test_a_long_series_keeps_its_peaks_and_its_newest_value(client: HubClient, folders: Folders):
    with SimulatedAgent(folders) as agent:
        for second in range(5000):
            ram_bytes = 900 * MIB if second == 2345 else 100 * MIB
            agent.sample(t_s=float(second), ram_bytes=ram_bytes)
        agent.sample(t_s=5000.0, ram_bytes=101 * MIB)
        agent.wait_acked()
        told = client.series(agent.run, ["ram_bytes"], buckets=50)
        part = client.series(agent.run, ["ram_bytes"], from_s=2340.0, to_s=2350.0)

    t_s, values = points(told.columns[0])
    assert len(t_s) <= 100
    assert told.columns[0].n_raw == 5001
    assert values.max() == 900 * MIB
    assert t_s[values.argmax()] == 2345
    assert (t_s[-1], values[-1]) == (5000, 101 * MIB)
    assert list(points(part.columns[0])[0]) == list(range(2340, 2351))


@pytest.mark.slow
def test_new_samples_are_added_to_what_was_asked_before(client: HubClient, folders: Folders):
    with SimulatedAgent(folders) as agent:
        agent.sample(t_s=1.0)
        agent.wait_acked()
        before = client.series(agent.run, ["ram_bytes", "host_available_bytes"])
        agent.sample(t_s=2.0, host_available_bytes=5.0 * MIB)
        agent.wait_acked()
        after = client.series(agent.run, ["ram_bytes", "host_available_bytes"])

    assert after.row > before.row
    assert [column.n_raw for column in before.columns] == [1, 0]
    assert list(points(after.columns[0])[0]) == [1.0, 2.0]
    assert list(points(after.columns[1])[0]) == [2.0]


@pytest.mark.slow
def test_epochs_and_logs_are_columns_too(client: HubClient, folders: Folders):
    with SimulatedAgent(folders) as agent:
        agent.start_fit()
        for loss in (0.5, float("nan"), 0.25):
            agent.start_epoch()
            agent.end_epoch(loss=loss, step_s=0.02)
        agent.start_epoch()
        agent.wait_acked()
        told = client.series(agent.run, ["epoch:step_time_s", "log:loss", "log:nothing"])

    step_time, loss, nothing = told.columns
    assert list(points(step_time)[1]) == [0.02] * 3
    assert loss.n_raw == 2
    np.testing.assert_array_equal(points(loss)[1], [0.5, np.nan, 0.25])
    assert nothing.n_raw == 0
    starts = np.frombuffer(told.epoch_t_s, "<f8")
    ends = np.frombuffer(told.epoch_end_t_s, "<f8")
    assert len(starts) == len(ends) == 4
    assert np.isnan(ends[3])
    assert list(np.frombuffer(told.fit_of_epoch, "<i4")) == [1] * 4


@pytest.mark.slow
def test_a_gap_and_a_new_process_break_the_line(client: HubClient, folders: Folders):
    with SimulatedAgent(folders) as first:
        first.sample(t_s=1.0)
        first.end_boot("restart")
        first.wait_acked()
    with SimulatedAgent(folders, after=first) as second:
        second.sample(t_s=3.0)
        second.wait_acked()
        told = client.series(first.run, ["ram_bytes"])

    _, values = points(told.columns[0])
    assert list(np.isnan(values)) == [False, True, False]


@pytest.mark.slow
def test_charts_do_not_hold_up_what_arrives(client: HubClient, folders: Folders):
    with SimulatedAgent(folders) as agent:
        for second in range(20_000):
            agent.sample(t_s=float(second))
        agent.wait_acked()
        told: list[SeriesReply] = [client.series(agent.run, ["ram_bytes"] * 24, buckets=4000)]
        agent.sample(t_s=20_000.0)
        agent.wait_acked()

    assert told[0].columns[0].n_raw == 20_000


@pytest.mark.slow
def test_a_graph_counted_between_two_samples_stands_where_it_was_counted(
    client: HubClient, folders: Folders
):
    with SimulatedAgent(folders) as agent:
        agent.sample(t_s=1.0, graph_operations=100.0)
        agent.emit(GraphSize(t_s=1.4, fit=1, epoch=3, operations=900, traces=4, functions=7))
        agent.emit(GraphSize(t_s=1.6, fit=1, epoch=3, operations=50, traces=1, functions=2))
        agent.sample(t_s=2.0, graph_operations=50.0)
        agent.wait_acked()
        told = client.series(agent.run, ["graph_operations"])

    t_s, values = points(told.columns[0])
    assert list(t_s) == [1.0, 1.4, 1.6, 2.0]
    assert list(values) == [100, 900, 50, 50]
