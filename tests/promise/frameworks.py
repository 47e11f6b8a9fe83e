"""Usages on JAX, PyTorch and tf_keras, and with TensorBoard beside ours."""

from dataclasses import dataclass, replace
from typing import Final

from tests.promise.environments import CASES
from tests.promise.training import Case


@dataclass(frozen=True, slots=True)
class Stack:
    """A Keras and what it runs on.

    Attributes:
        name: Name of the test.
        backend: Value of `KERAS_BACKEND`.
        keras: The module that is imported as `keras`.
    """

    name: str
    backend: str
    keras: str = "keras"

    def case(self, case: Case) -> Case:
        """The same case on this stack."""
        return replace(
            case,
            name=f"{self.name}: {case.name}",
            keras=self.keras,
            env={**case.env, "KERAS_BACKEND": self.backend},
            needs=(*dict.fromkeys((self.keras, self.backend, *case.needs)),),
        )


_TENSORFLOW: Final = Stack("TensorFlow", "tensorflow")
_JAX: Final = Stack("JAX", "jax")
_PYTORCH: Final = Stack("PyTorch", "torch")
_TF_KERAS: Final = Stack("tf_keras", "tensorflow", keras="tf_keras")

_PORTABLE: Final = frozenset(
    {
        "first of the callbacks",
        "two of them",
        "figures in the logs",
        "with validation",
        "two fits",
        "evaluate and predict",
        "a callback that raises",
        "fit in a thread",
        "early stopping and checkpoints",
        "weights saved and loaded",
        "a layer whose every access counts",
        "all overridden in a subclass",
        "all overridden under kmonitor run",
        "threads that cannot start",
        "no state folder",
    }
)
"""Cases that need nothing of TensorFlow's, one or two of each kind."""

_REQUESTED: Final = tuple(
    Case(
        f"a {action} on request",
        # Without it Dropout of tf_keras draws otherwise after a reload, which the record says.
        define="""
if keras.__name__ == "tf_keras":
    keras.backend.experimental.enable_tf_random_generator()
""",
        add=f"callbacks.append(monitor); monitor.request({action!r})",
        after="""
if WITH:
    assert monitor.records, "nothing was done"
    assert all(each.ok for each in monitor.records), [each.why for each in monitor.records]
""",
    )
    for action in ("collect", "reload", "save")
)

_EVENTS: Final = """
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
found["logged"] = []
for folder, _, names in sorted(os.walk("logs")):
    for name in sorted(names):
        read = EventAccumulator(os.path.join(folder, name), size_guidance={"tensors": 0}).Reload()
        tags = read.Tags()
        for tag in sorted(tags["tensors"]):
            found["logged"] += [(tag, e.step, e.tensor_proto.tensor_content.hex() or
                str(e.tensor_proto.float_val)) for e in read.Tensors(tag)]
        for tag in sorted(tags["scalars"]):
            found["logged"] += [(tag, e.step, e.value) for e in read.Scalars(tag)]
assert found["logged"], "nothing logged"
"""
"""Everything that TensorBoard would show, without wall times."""


def _board(update_freq: str) -> Case:
    return Case(
        "TensorBoard",
        define=f"""
def make_callbacks():
    return [keras.callbacks.TensorBoard("logs", histogram_freq=1, update_freq={update_freq})]
""",
        after=_EVENTS,
        needs=("tensorboard", "tensorflow"),
    )


_OF_PYTORCH: Final = Case(
    "TensorBoard's writer",
    define="""
from torch.utils.tensorboard import SummaryWriter
class Writes(keras.callbacks.Callback):
    def on_train_begin(self, logs=None): self.writer = SummaryWriter("logs")
    def on_epoch_end(self, epoch, logs=None):
        for name, value in logs.items(): self.writer.add_scalar(name, value, epoch)
        for number, each in enumerate(self.model.weights):
            self.writer.add_scalar(f"sum {number}", each.value.detach().sum(), epoch)
    def on_train_end(self, logs=None): self.writer.close()
def make_callbacks(): return [Writes()]
""",
    after=_EVENTS,
    needs=("tensorboard", "torch"),
)


_BOARDS: Final = (
    # Keras' callback needs TensorFlow on every backend, and knows no PyTorch.
    *(stack.case(_board("1")) for stack in (_TENSORFLOW, _JAX)),
    # tf_keras calls the steps' hooks of all callbacks as soon as one has any: TensorBoard's of a
    # number of steps then logs more, as it does beside a progress bar.
    _TF_KERAS.case(_board("'epoch'")),
    _PYTORCH.case(_OF_PYTORCH),
)


def _cases() -> tuple[Case, ...]:
    portable = [case for case in CASES if case.name in _PORTABLE]
    assert len(portable) == len(_PORTABLE), "a case was renamed"
    stacks = (_JAX, _PYTORCH, _TF_KERAS)
    every = (stack.case(case) for stack in stacks for case in (*portable, *_REQUESTED))
    return (*every, *_BOARDS)


FRAMEWORK_CASES: Final = _cases()
"""Cases of every stack; those that need what is not installed are skipped."""
