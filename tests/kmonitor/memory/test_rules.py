"""Memory that single layers keep, against TensorFlow's allocator layer by layer."""

import pytest

from kmonitor.memory.estimate import MemoryMap, Plan, estimate
from kmonitor.memory.layer_rules import Backend
from kmonitor_agent.wire.messages.model_layout import ConfigValue
from tests.support.made_up_layouts import chain, layer, tensor, variable

STEPS, WIDTH = 64, 256
Y = 4 * STEPS * WIDTH
"""Bytes of one example's feature map."""


def _kept(kind: str, **settings: ConfigValue) -> float:
    """Memory that a third layer of a kind keeps more than a second one, as a share of Y."""

    def kept_bytes(n: int) -> int:
        some = [layer(f"one_{place}", kind, **settings) for place in range(n)]
        ends = [layer("in", "Dense", 0), layer("out", "Dense", 1)]
        shapes = [tensor(STEPS, WIDTH)] * (n + 2) + [tensor(STEPS, 1)]
        weights = [variable("in/kernel", WIDTH, WIDTH), variable("out/kernel", WIDTH, 1)]
        made = chain([ends[0], *some, ends[1]], shapes, weights)
        return estimate(made, Plan(batch=1)).activation_bytes

    return (kept_bytes(3) - kept_bytes(2)) / Y


def _wrapped(wraps: str, backend: Backend = "tensorflow", *, is_first: bool = True) -> MemoryMap:
    """Steps one by one, in front or behind a layer that is trained."""
    before, after = layer("in", "Dense", 0), layer("out", "Dense", 2)
    each = layer("each", "TimeDistributed", 1, wraps=wraps, units=WIDTH)
    layers = [each, before, after] if is_first else [before, each, after]
    weights = [variable(f"{n}/kernel", WIDTH, WIDTH) for n in range(3)]
    model = chain(layers, [tensor(STEPS, WIDTH)] * 4, weights, "SGD")
    return estimate(model, Plan(batch=1, backend=backend))


@pytest.mark.parametrize(
    ("kind", "settings", "kept"),
    [
        ("GroupNormalization", {}, 1),
        ("UnitNormalization", {}, 1),
        ("LayerNormalization", {}, 2),
        ("PReLU", {}, 2),
        ("GaussianNoise", {"stddev": 0.1}, 1),
        ("AlphaDropout", {"rate": 0.1}, 2.25),
        ("SpatialDropout1D", {"rate": 0.1}, 0),
        ("Dropout", {"rate": 0.1}, 0.25),
        ("Multiply", {}, 0),
        ("Activation", {"activation": "hard_silu"}, 3),
        ("Activation", {"activation": "relu"}, 1),
    ],
)
def test_a_layer_keeps_what_was_measured(kind: str, settings: dict[str, ConfigValue], kept: float):

    assert _kept(kind, **settings) == pytest.approx(kept)


def test_each_unrolled_step_has_a_gradient_of_all_weights():
    found, fused = _wrapped("Dense"), _wrapped("Dense", "torch")

    assert found.transient_bytes - fused.transient_bytes > 0.8 * STEPS * 4 * WIDTH * WIDTH


def test_and_one_of_the_whole_sequence_where_something_below_is_trained():
    above, first = _wrapped("Dense", is_first=False), _wrapped("Dense")

    assert above.high_bytes is not None
    assert first.high_bytes is not None
    assert above.high_bytes - first.high_bytes > 0.9 * STEPS * Y


@pytest.mark.parametrize("wraps", ["Sequential", "Bidirectional"])
def test_a_wrapper_of_what_no_rule_covers_is_named(wraps: str):
    assert _wrapped(wraps).uncovered == ("TimeDistributed",)


def test_steps_of_a_loop_that_run_ahead_are_in_the_upper_end():
    cell = variable("cell/kernel", 1024, 4096)
    shapes = [tensor(STEPS, 1024), tensor(STEPS, 1024)]
    made = chain([layer("loop", "LSTM", 0, units=1024)], shapes, [cell], "SGD")

    found = estimate(made, Plan(batch=1))

    assert found.high_bytes is not None
    assert found.high_bytes > 32 * 4 * 1024 * 4096
    assert found.peak_bytes < 32 * 4 * 1024 * 4096
