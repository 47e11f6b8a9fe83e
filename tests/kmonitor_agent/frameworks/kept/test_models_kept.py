"""Models and data sets that are kept: their size is known where it is that of their tensors."""

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from kmonitor_agent.frameworks.kept.search import KeptObjectWalk
from kmonitor_agent.frameworks.kept.sizes import size_of
from kmonitor_agent.wire.messages.events import KeptObjects

keras: Any = pytest.importorskip("keras")

pytestmark = [pytest.mark.usefixtures("this_module_alone"), pytest.mark.keras]

MIB = 2**20


class Recorder:
    """A callback of the script's."""

    def __init__(self, held: Any) -> None:
        self.held = held


def of_recorder(walk: KeptObjectWalk, held: Any) -> list[KeptObjects]:
    found = walk.search([Recorder(held)], None)
    return [each for each in found if each.place.startswith("Recorder.")]


def last_search(make: Callable[[], Any]) -> KeptObjects:
    """The finding of the last of several searches, between which a dict gets new values."""
    held: dict[int, Any] = {}
    found: list[KeptObjects] = []
    lengths = None
    for _ in range(3):
        held.update({len(held) + n: make() for n in range(3)})
        walk = KeptObjectWalk(lengths)
        found = of_recorder(walk, held)
        lengths = walk.lengths
    (one,) = found
    return one


def model(units: int) -> Any:
    made = keras.Sequential([keras.Input((256,)), keras.layers.Dense(units, use_bias=False)])
    made.compile(keras.optimizers.SGD(momentum=0.9), "mse")
    made.optimizer.build(made.trainable_variables)
    return made


@pytest.mark.parametrize("wrap", [lambda made: made, lambda made: (0.5, made)])
def test_models_are_measured_by_their_variables(wrap: Callable[[Any], Any]):
    found = last_search(lambda: wrap(model(1024)))

    assert (found.kind, found.container, found.count) == ("keras.Model", "dict", 9)
    assert found.n_bytes == pytest.approx(9 * 2 * MIB, rel=0.01)


def trained(units: int) -> Any:
    made = model(units)
    made.train_on_batch(np.zeros((1, 256)), np.zeros((1, units)))
    return made


def predicting(units: int) -> Any:
    made = model(units)
    made.predict(np.zeros((1, 256)), verbose=0)
    return made


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "is_known"),
    [
        (lambda: trained(4096), False),
        (lambda: predicting(64), False),
        (lambda: predicting(4096), True),
    ],
)
def test_size_of_models_with_compiled_steps_is_known_only_if_the_steps_are_small(
    make: Callable[[], Any], *, is_known: bool
):
    found = last_search(make)

    assert found.kind == "keras.Model"
    assert (found.n_bytes is not None) is is_known


class Kept:
    """Keeps arrays for a metric, a loss or a layer of the script's."""

    newest: Any = None  # refers weakly

    def __init__(self) -> None:
        self.held: list[Any] = []
        Kept.newest = weakref.ref(self)


def with_metric() -> Any:
    class Scores(keras.metrics.MeanMetricWrapper):
        pass

    metric = Scores(keras.losses.mean_squared_error)
    metric.kept = Kept()
    made = model(4)
    made.compile("sgd", "mse", metrics=[metric])
    return made


def with_loss() -> Any:
    kept = Kept()

    def loss(actual: Any, predicted: Any) -> Any:
        assert kept is not None
        return predicted - actual

    made = model(4)
    made.compile("sgd", loss)
    return made


def with_layer() -> Any:
    class Scale(keras.layers.Layer):
        def call(self, inputs: Any) -> Any:
            return inputs

    layer = Scale()
    layer.kept = Kept()
    return keras.Sequential([keras.Input((256,)), keras.Sequential([layer])])


@pytest.mark.parametrize("make", [with_metric, with_loss, with_layer])
@pytest.mark.parametrize("wrap", [lambda made: made, lambda made: {"judge": made}])
def test_parts_of_a_model_that_is_not_fitted_are_searched(
    make: Callable[[], Any], wrap: Callable[[Any], Any]
):
    recorder = Recorder(wrap(make()))
    lengths = None
    found: list[KeptObjects] = []
    for _ in range(3):
        Kept.newest().held.extend(np.zeros(MIB // 8) for _ in range(2))
        walk = KeptObjectWalk(lengths)
        found = walk.search([recorder], None)
        lengths = walk.lengths

    assert [(each.place, each.count) for each in found] == [("Kept.held", 6)]


def sliced(mib: int) -> Any:
    tf: Any = pytest.importorskip("tensorflow")
    images = np.zeros((1024 * mib, 256), "float32")
    return tf.data.Dataset.from_tensor_slices((images, images[:, 0])).batch(20).prefetch(1)


@pytest.mark.parametrize("wrap", [lambda made: made, lambda made: [0.5, made]])
def test_data_sets_are_measured_by_their_tensors(wrap: Callable[[Any], Any]):
    found = last_search(lambda: wrap(sliced(2)))

    assert (found.kind, found.container, found.count) == ("tf.data.Dataset", "dict", 9)
    assert found.n_bytes == pytest.approx(9 * 2 * MIB, rel=0.01)


def test_inputs_of_data_sets_made_of_several_count():
    tf: Any = pytest.importorskip("tensorflow")

    found = last_search(lambda: tf.data.Dataset.zip((sliced(2), sliced(1).concatenate(sliced(1)))))

    assert found.n_bytes == pytest.approx(9 * 4 * MIB, rel=0.01)


def test_data_sets_that_share_their_tensors_are_counted_only():
    shared = sliced(2)

    found = last_search(lambda: shared.batch(2))

    assert (found.kind, found.count, found.n_bytes) == ("tf.data.Dataset", 9, None)


def test_value_of_a_variable_with_an_open_shape_is_measured():
    tf: Any = pytest.importorskip("tensorflow")
    bank = tf.Variable(tf.zeros((0, 512)), shape=(None, 512), trainable=False)
    bank.assign(tf.zeros((1024, 512)))

    (found,) = of_recorder(KeptObjectWalk(), bank)

    assert (found.kind, found.shape) == ("tensorflow.Tensor", "(1024, 512)")
    assert found.n_bytes == 2 * MIB


def test_open_shape_is_unknown_while_a_graph_is_built():
    tf: Any = pytest.importorskip("tensorflow")
    bank = tf.Variable(tf.zeros((1024, 512)), shape=(None, 512), trainable=False)
    found: list[KeptObjects] = []
    with tf.Graph().as_default():
        found = of_recorder(KeptObjectWalk(), bank)
        operations = tf.compat.v1.get_default_graph().get_operations()

    assert (found, operations) == ([], [])


def test_persistent_tapes_are_counted():
    tf: Any = pytest.importorskip("tensorflow")

    def tape() -> Any:
        weights = tf.ones((4, 4))
        with tf.GradientTape(persistent=True) as recorded:
            recorded.watch(weights)
            _ = weights * 2.0
        return recorded

    found = last_search(tape)

    assert (found.kind, found.count, found.n_bytes) == ("tf.GradientTape", 9, None)


def test_tapes_that_were_read_keep_nothing():
    tf: Any = pytest.importorskip("tensorflow")
    weights = tf.ones((4, 4))
    with tf.GradientTape() as tape:
        tape.watch(weights)
        loss = weights * 2.0
    tape.gradient(loss, weights)

    assert size_of(tape) is None


@pytest.mark.parametrize("wrap", [lambda made: made, lambda made: (0.5, made)])
def test_what_keras_attaches_to_a_kept_tensor_counts_with_it(wrap: Callable[[Any], Any]):
    softmax = keras.layers.Activation("softmax")

    found = last_search(lambda: wrap(softmax(np.zeros((256, 1024), "float32"))))

    assert (found.kind, found.shape) == ("tensorflow.Tensor", "(256, 1024)")
    assert found.n_bytes == pytest.approx(9 * 2 * MIB, rel=0.01)


def test_an_attached_tensor_that_all_share_counts_once():
    shared = keras.ops.convert_to_tensor(np.zeros((256, 1024), "float32"))
    held = [keras.activations.softmax(shared) for _ in range(8)]

    (found,) = of_recorder(KeptObjectWalk(), held)

    assert found.n_bytes == 9 * MIB


def grown(holder: Any, held: list[Any], make: Callable[[], Any]) -> list[tuple[str, int]]:
    """Places and counts of the last of several searches, between which a list gets longer."""
    lengths = None
    found: list[KeptObjects] = []
    for _ in range(3):
        held += [make() for _ in range(3)]
        walk = KeptObjectWalk(lengths)
        found = walk.search([holder], None)
        lengths = walk.lengths
    return [(each.place, each.count) for each in found]


@pytest.mark.parametrize("name", ["_losses", "_metrics", "_layers", "_self_outputs"])
def test_a_callback_may_use_the_names_that_keras_has_for_its_own_attributes(name: str):
    class LossHistory(keras.callbacks.Callback):
        pass

    callback = LossHistory()
    held: list[Any] = []
    setattr(callback, name, held)

    places = grown(callback, held, lambda: np.zeros(MIB // 8))

    assert places == [(f"LossHistory.{name}", 9)]


def test_a_layer_may_use_names_that_begin_like_those_of_keras():
    class Watched(keras.layers.Layer):
        def __init__(self) -> None:
            super().__init__()
            self._losses_log: list[Any] = []

    layer = Watched()
    held = vars(layer)["_losses_log"]

    places = grown(Recorder(layer), held, lambda: np.zeros(MIB // 8))

    assert places == [("Watched._losses_log", 9)]


def noisy_layer() -> Any:
    class Noisy(keras.layers.Layer):
        def resample(self) -> None:
            self._tracker.unlock()
            self.noise = self.add_weight(shape=(256, 1024), trainable=False)
            self._tracker.lock()

    layer = Noisy()
    layer.add_weight(shape=(256, 1024))
    layer.resample()
    return layer


@pytest.mark.parametrize("wrap", [lambda layer: layer, lambda layer: keras.Sequential([layer])])
def test_variables_that_a_script_adds_to_a_layer_are_named(wrap: Callable[[Any], Any]):
    layer = noisy_layer()
    holder = Recorder(wrap(layer))
    lengths = None
    found: list[KeptObjects] = []
    for _ in range(3):
        layer.resample()
        layer.resample()
        walk = KeptObjectWalk(lengths)
        found = walk.search([holder], None)
        lengths = walk.lengths

    (one,) = found
    assert (one.place, one.kind) == ("Noisy._non_trainable_variables", "keras.Variable")
    assert (one.count, one.n_bytes) == (7, 7 * MIB)


def test_weights_of_a_model_are_not_kept_by_the_script():
    first = KeptObjectWalk()
    holder = Recorder(noisy_layer())
    found = first.search([holder], None)
    then = KeptObjectWalk(first.lengths).search([holder], None)

    assert {each.place for each in (*found, *then)} == {"Noisy.noise"}
