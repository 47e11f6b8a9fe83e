"""Totals and rows of a memory map, against numbers worked by hand."""

from dataclasses import replace
from itertools import pairwise

import msgspec
import pytest

from kmonitor.memory.estimate import MemoryMap, Plan, backend_of, estimate
from kmonitor.memory.tensor_sizes import OpenShape
from kmonitor_agent.wire.messages.model_layout import CallLayout, ModelLayout, OptimizerLayout
from tests.support.made_up_layouts import chain, layer, tensor, two_dense, variable

WEIGHTS = 4 * (100 * 1000 + 1000 + 1000 * 10 + 10)
COUNTERS = 12


def row(found: MemoryMap, path: str):
    return next(each for each in found.layers if each.path == path)


def test_weights_gradients_and_slots_are_exact():
    found = estimate(two_dense(), Plan(batch=8))

    assert found.parameter_bytes == WEIGHTS
    assert found.gradient_bytes == WEIGHTS
    assert found.slot_bytes == 2 * WEIGHTS + COUNTERS
    assert found.resident_bytes == 3 * WEIGHTS + COUNTERS
    assert found.peak_bytes == found.resident_bytes + found.transient_bytes


def test_the_rows_add_up_to_the_totals():
    found = estimate(two_dense(), Plan(batch=8))

    assert sum(each.parameter_bytes for each in found.layers) == found.parameter_bytes
    assert sum(each.slot_bytes for each in found.layers) == found.slot_bytes - COUNTERS
    assert sum(each.kept_bytes for each in found.layers) == found.kept_bytes
    assert sum(each.activation_bytes for each in found.layers) == found.activation_bytes
    assert sum(each.total_bytes for each in found.layers) == found.peak_bytes


def test_dense_keeps_its_input_and_relu_its_result_and_both_count_once():
    found = estimate(two_dense(), Plan(batch=8))

    assert row(found, "wide").activation_bytes == 8 * 4 * (100 + 1000)
    assert row(found, "out").activation_bytes == 0  # its input is the relu's result


def test_below_frozen_layers_nothing_is_kept():
    found = estimate(two_dense(first_is_trained=False), Plan(batch=8))

    wide = row(found, "wide")
    assert wide.is_frozen
    assert wide.note == "frozen"
    assert (wide.gradient_bytes, wide.slot_bytes, wide.activation_bytes) == (0, 0, 0)
    assert row(found, "out").activation_bytes == 8 * 4 * 1000
    assert found.parameter_bytes == WEIGHTS


def test_a_layer_used_twice_has_its_weights_once_and_its_feature_maps_twice():
    once = two_dense()
    twice = msgspec.structs.replace(
        once,
        tensors=(tensor(100), tensor(100), tensor(100), tensor(100)),
        variables=(variable("wide/kernel", 100, 100),),
        layers=(layer("wide", "Dense", 0), layer("out", "Dense", 0)),
        calls=(CallLayout(0, (0,), (1,)), CallLayout(0, (1,), (2,)), CallLayout(1, (2,), (3,))),
        outputs=(3,),
    )

    found = estimate(twice, Plan(batch=8))

    wide, out = row(found, "wide"), row(found, "out")
    assert found.parameter_bytes == 4 * 100 * 100
    assert (wide.uses, wide.is_shared, wide.activation_bytes) == (2, True, 2 * 8 * 4 * 100)
    assert (out.parameters, out.is_shared) == (0, True)
    assert out.note == "weights counted under wide"


def test_what_holds_nothing_is_said_to():
    layout = chain(
        [layer("flat", "Flatten"), layer("pool", "AveragePooling1D")],
        [tensor(10, 4), tensor(40), tensor(20)],
        [],
    )

    found = estimate(layout, Plan(batch=8))

    assert {each.note for each in found.layers if each.kind} == {
        "no weights, no saved activations"
    }


def test_kinds_without_a_rule_are_named_and_widen_the_interval():
    covered = two_dense()
    layout = msgspec.structs.replace(
        covered, layers=(*covered.layers[:1], layer("out", "Mystery", 2, 3))
    )

    found, known = estimate(layout, Plan(batch=8)), estimate(covered, Plan(batch=8))

    assert found.uncovered == ("Mystery",)
    assert not row(found, "out").is_covered
    assert _width(found) > _width(known)


def _width(found: MemoryMap) -> float:
    assert found.high_bytes is not None
    return (found.high_bytes - found.resident_bytes) / found.transient_bytes


def test_where_the_graph_is_not_known_there_is_no_upper_end():
    layout = msgspec.structs.replace(two_dense(), calls=(), why_no_calls="it computes by itself")

    found = estimate(layout, Plan(batch=8))

    assert found.high_bytes is None
    assert found.parameter_bytes == WEIGHTS
    assert "it computes by itself" in found.notes


def test_without_an_optimizer_there_are_neither_slots_nor_gradients():
    found = estimate(two_dense(optimizer=""), Plan(batch=8))

    assert (found.slot_bytes, found.gradient_bytes, found.activation_bytes) == (0, 0, 0)
    assert "not compiled" in found.notes[0]


@pytest.mark.parametrize(
    ("kind", "settings", "slots"),
    [
        ("sgd", {}, 0),
        ("SGD", {"momentum": 0.9}, 1),
        ("Adam", {}, 2),
        ("adam", {"amsgrad": True}, 3),
        ("RMSprop", {}, 1),
        ("rmsprop", {"momentum": 0.5, "centered": True}, 3),
        ("lion", {}, 1),
        ("Adam", {"use_ema": True}, 3),
    ],
)
def test_slots_follow_the_optimizer_and_its_settings(kind: str, settings: dict, slots: int):
    plan = Plan(batch=1, optimizer=OptimizerLayout(kind, settings))

    assert estimate(two_dense(), plan).slot_bytes == slots * WEIGHTS + COUNTERS


def test_mixed_precision_halves_feature_maps_and_keeps_weights():
    full = estimate(two_dense(), Plan(batch=512))
    mixed = estimate(two_dense(), Plan(batch=512, precision="mixed_float16"))

    copies = 2 * (100 * 1000 + 1000 * 10)
    assert mixed.parameter_bytes == full.parameter_bytes
    assert mixed.activation_bytes == full.activation_bytes // 2 + copies


def test_open_lengths_are_refused_and_named():
    layout = chain([layer("flat", "Flatten")], [tensor(None, 4), tensor(4)], [])

    with pytest.raises(OpenShape) as caught:
        estimate(layout, Plan(batch=8))

    assert caught.value.shape == (None, None, 4)


def test_the_peak_never_falls_as_the_batch_grows():
    peaks = [estimate(two_dense(), Plan(batch=n)).peak_bytes for n in (1, 2, 7, 64, 500, 4096)]

    assert all(before <= after for before, after in pairwise(peaks))


def test_gradients_that_wait_for_a_common_norm_are_all_there():
    clipped = Plan(batch=8, optimizer=OptimizerLayout("adam", {"global_clipnorm": 1.0}))
    plain = replace(clipped, optimizer=OptimizerLayout("adam"))

    more = estimate(two_dense(), clipped).peak_bytes - estimate(two_dense(), plain).peak_bytes

    assert more >= WEIGHTS


@pytest.mark.parametrize(
    ("backend", "jit", "expected"),
    [
        ("tensorflow", False, "tensorflow"),
        ("tensorflow", True, "xla"),
        ("jax", None, "xla"),
        ("torch", None, "torch"),
        ("", None, "tensorflow"),
    ],
)
def test_how_a_step_is_computed_follows_from_the_description(
    backend: str,
    jit: bool | None,  # noqa: FBT001 - a parameter of the test
    expected: str,
):
    assert backend_of(ModelLayout("m", "M", backend=backend, jit_compile=jit)) == expected


@pytest.mark.parametrize(
    ("plan", "says"),
    [
        (Plan(8, backend="xla"), "XLA"),
        (Plan(8, backend="torch"), "PyTorch"),
        (Plan(8, precision="mixed_float16"), "16-bit"),
    ],
)
def test_what_the_rules_were_not_measured_for_is_said_and_widens_the_interval(
    plan: Plan, says: str
):
    found = estimate(two_dense(), plan)

    assert any(says in each for each in found.notes)
    assert _width(found) > _width(estimate(two_dense(), Plan(8))) + 0.2


def test_loops_too():
    [usual] = [each for each in two_dense().layers if each.path == "out"]
    layout = msgspec.structs.replace(
        two_dense(), layers=(two_dense().layers[0], msgspec.structs.replace(usual, kind="LSTM"))
    )

    assert any("recurrent" in each for each in estimate(layout, Plan(8)).notes)


def test_a_train_step_of_its_own_widens_the_interval_too():
    layout = msgspec.structs.replace(two_dense(), why_no_calls="it has a step of its own")

    found = estimate(layout, Plan(8))

    assert _width(found) > _width(estimate(two_dense(), Plan(8))) + 0.9


@pytest.mark.parametrize(("kind", "copies"), [("RMSprop", 1), ("Lion", 2), ("Adadelta", 3)])
def test_terms_of_an_update_that_wait_for_no_gradient_are_there_beside_all_else(
    kind: str, copies: int
):
    waiting, usual = estimate(two_dense(kind), Plan(8)), estimate(two_dense("Adagrad"), Plan(8))

    more = (waiting.transient_bytes - usual.transient_bytes) / WEIGHTS
    assert more == pytest.approx(copies, rel=0.15)


def test_so_are_decayed_weights_and_the_gradients_of_penalties():
    plain = two_dense("Adam")
    decays = OptimizerLayout("Adam", {"weight_decay": 0.01})
    wide = layer("wide", "Dense", 0, 1, activation="relu", kernel_regularizer=True)
    punished = msgspec.structs.replace(plain, layers=(wide, plain.layers[1]))
    usual = estimate(plain, Plan(8)).transient_bytes

    decayed = estimate(plain, Plan(8, optimizer=decays)).transient_bytes
    penalized = estimate(punished, Plan(8)).transient_bytes

    assert decayed - usual == pytest.approx(WEIGHTS, rel=0.1)
    assert penalized - usual == pytest.approx(4 * 100 * 1000, rel=0.1)


def test_plain_sgd_applies_a_gradient_in_its_place():
    largest = 4 * 100 * 1000
    copies = {
        name: estimate(two_dense(name), Plan(batch=1)).transient_bytes / largest
        for name in ("SGD", "Adam")
    }

    assert 2 <= copies["SGD"] < 2.5
    assert 3 <= copies["Adam"] < 3.7
