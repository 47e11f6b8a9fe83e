"""A metric of all folds over their epochs: requested once, kept up, with mean and spread."""

import math

import msgspec
import pytest

from kmonitor.ui.studies.fold_charts import FoldMetricState, FoldMetricStore
from kmonitor_agent.wire.messages.events import EpochEnded
from kmonitor_agent.wire.messages.unions import RowsReply, RowsRequest
from tests.support.made_up_runs import HUB, made_up_row

SIZE = (400, 160)


class Hub:
    """Takes questions."""

    def __init__(self) -> None:
        self.asked: list[RowsRequest] = []

    def __call__(self, message: msgspec.Struct) -> int:
        assert isinstance(message, RowsRequest)
        self.asked.append(message)
        return len(self.asked)


@pytest.fixture
def hub() -> Hub:
    return Hub()


def tell(metrics: FoldMetricStore, run: str, *values: float, fit: int = 1, name: str = "loss"):
    for epoch, value in enumerate(values):
        event = EpochEnded(t_s=float(epoch), fit=fit, epoch=epoch, seconds=1.0, logs={name: value})
        metrics.apply_event(made_up_row(epoch, event, run), event)


def page(ask: int, *, more: bool) -> RowsReply:
    return RowsReply(request_id=ask, hub=HUB, cursor=77, rows=[], more=more, head=100)


def shown(
    metrics: FoldMetricStore, n: int = 2, *, finished: tuple[int, ...] = ()
) -> FoldMetricState:
    runs = {fold: f"r{fold}" for fold in range(n)}
    return metrics.state(runs, finished, size_px=SIZE)


def followed(hub: Hub, n: int = 2) -> FoldMetricStore:
    metrics = FoldMetricStore(hub)
    metrics.want([f"r{fold}" for fold in range(n)])
    return metrics


def test_the_epochs_of_all_folds_are_asked_for_once_page_by_page(hub: Hub):
    metrics = followed(hub)
    metrics.want(["r0", "r1"])

    assert [(each.runs, each.kinds) for each in hub.asked] == [(["r0", "r1"], ["epoch_end"])]
    assert metrics.apply_rows(page(1, more=True))
    assert hub.asked[1].cursor == 77
    assert metrics.apply_rows(page(2, more=False))
    assert len(hub.asked) == 2
    assert not metrics.apply_rows(page(99, more=True))


def test_a_fold_that_begins_later_is_asked_for_alone_and_one_that_goes_is_let_go(hub: Hub):
    metrics = followed(hub)

    metrics.want(["r1", "r2"])

    assert hub.asked[1].runs == ["r2"]
    tell(metrics, "r0", 1.0)
    assert shown(metrics, 1).choices == ()


def test_what_was_refused_is_asked_for_again(hub: Hub):
    metrics = followed(hub)
    metrics.refuse(1)
    metrics.refuse(99)

    metrics.want(["r0", "r1"])

    assert len(hub.asked) == 2


def test_nothing_known_is_said(hub: Hub):
    metrics = followed(hub)

    assert shown(metrics, 0).text.endswith("if their fit has a MonitorCallback.")
    assert shown(metrics).text == "No fold has finished an epoch yet."
    tell(metrics, "r0", math.nan)
    assert shown(metrics).text == "No value yet."


def test_mean_and_spread_are_of_the_folds_that_came_so_far(hub: Hub):
    metrics = followed(hub)
    tell(metrics, "r0", 1.0, 0.5, 0.25)
    tell(metrics, "r1", 2.0, 1.0)

    picture = shown(metrics)

    assert len(picture.folds) == 2
    assert [x for x, _ in picture.mean] == [0.0, 0.5, 1.0]
    top = 1.5 / picture.mean[0][1]
    assert picture.mean[1][1] == pytest.approx(0.75 / top)
    assert picture.band[2][1:] == (picture.mean[2][1], picture.mean[2][1])
    assert picture.value == "0.62 \u00b1 0.53"
    assert "2 folds, each at its last epoch" in picture.text


def test_what_finished_folds_came_to_counts_where_there_are_any(hub: Hub):
    metrics = followed(hub)
    tell(metrics, "r0", 1.0, 0.5)
    tell(metrics, "r1", 2.0)

    picture = shown(metrics, finished=(0,))

    assert picture.value == "0.5"
    assert picture.text == "loss of 1 fold at its last epoch"


def test_the_spread_tells_how_many_digits_count(hub: Hub):
    metrics = followed(hub, 3)
    for fold, value in enumerate((0.41234, 0.45678, 0.5)):
        tell(metrics, f"r{fold}", value, value)

    picture = shown(metrics, 3, finished=(0, 1))

    assert picture.value == "0.435 \u00b1 0.031"
    assert "the 2 finished folds" in picture.text


def test_an_epoch_that_comes_again_after_a_retry_stands_in_its_place(hub: Hub):
    metrics = followed(hub, 1)
    tell(metrics, "r0", 9.0, 8.0)

    tell(metrics, "r0", 1.0, 0.5, 0.25)

    (line,) = shown(metrics, 1).folds
    assert len(line) == 3


def test_fits_of_a_fold_stand_in_a_row(hub: Hub):
    metrics = followed(hub, 1)
    tell(metrics, "r0", 1.0, 0.5)
    tell(metrics, "r0", 0.4, fit=2)

    assert len(shown(metrics, 1).folds[0]) == 3


def test_validation_loss_is_the_usual_choice_and_another_can_be_chosen(hub: Hub):
    metrics = followed(hub, 1)
    for fit, name in enumerate(("accuracy", "loss", "val_accuracy", "val_loss")):
        tell(metrics, "r0", 0.5, fit=fit, name=name)

    assert shown(metrics, 1).choices == ("val_loss", "val_accuracy", "loss", "accuracy")
    assert shown(metrics, 1).metric == "val_loss"
    metrics.metric = "accuracy"
    assert shown(metrics, 1).metric == "accuracy"


def test_a_picture_is_made_anew_only_when_something_changed(hub: Hub):
    metrics = followed(hub)
    tell(metrics, "r0", 1.0)
    first = shown(metrics)

    assert shown(metrics) is first
    tell(metrics, "other", 1.0)
    assert shown(metrics) is first
    tell(metrics, "r1", 1.0)
    assert shown(metrics) is not first


def test_what_was_told_of_runs_that_are_void_goes(hub: Hub):
    metrics = followed(hub)
    tell(metrics, "r0", 1.0)

    metrics.forget(["r0", "r1"])

    assert shown(metrics, finished=(1,)).choices == ()
