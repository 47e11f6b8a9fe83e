"""A convolutional network described by hand, and a run's events of it."""

from dataclasses import replace
from typing import Any

from kmonitor.memory.estimate import Plan, estimate
from kmonitor.memory.map_result import MapQuestion, MapResult, begin_map, completing
from kmonitor.ui.memory.subjects import MapSubject, SizedLayout, input_size_text
from kmonitor_agent.wire.messages.events import (
    Event,
    LayerFacts,
    LayoutPart,
    ModelFacts,
    SlotFacts,
    StepPeak,
)
from kmonitor_agent.wire.messages.model_layout import (
    CallLayout,
    LayerLayout,
    ModelLayout,
    OptimizerLayout,
    TensorLayout,
    VariableLayout,
    encode_layout,
)
from tests.support.made_up_layouts import layer, tensor, variable

MIB = 2**20


class _Chain:
    """Layers one after the other, as they are added."""

    def __init__(self, *shape: int) -> None:
        self.layers: list[LayerLayout] = []
        self.tensors: list[TensorLayout] = [tensor(*shape)]
        self.variables: list[VariableLayout] = []
        self.calls: list[CallLayout] = []

    def weights(self, path: str, *shape: int, is_trainable: bool = True) -> int:
        self.variables.append(variable(path, *shape, is_trainable=is_trainable))
        return len(self.variables) - 1

    def use(self, made: LayerLayout, *shape: int) -> None:
        if made not in self.layers:
            self.layers.append(made)
        self.tensors.append(tensor(*shape))
        last = len(self.tensors) - 1
        self.calls.append(CallLayout(self.layers.index(made), (last - 1,), (last,)))

    def block(self, name: str, repeats: int, side: int, before: int, width: int) -> None:
        for n in range(1, repeats + 1):
            path = f"{name}/conv{n}"
            is_trained = not name.endswith("block1")
            kernel = self.weights(f"{path}/kernel", 3, 3, before, width, is_trainable=is_trained)
            self.use(layer(path, "Conv2D", kernel), side, side, width)
            path = f"{name}/norm{n}"
            pair = [self.weights(f"{path}/{each}", width) for each in ("gamma", "beta")]
            self.use(layer(path, "BatchNormalization", *pair), side, side, width)
            self.use(layer(f"{name}/relu{n}", "ReLU"), side, side, width)
            before = width
        self.use(layer(f"{name}/pool", "MaxPooling2D"), side // 2, side // 2, width)


def convolutions(side: int = 128, blocks: int = 4, repeats: int = 2) -> ModelLayout:
    """A nested, partly frozen encoder, a layer used twice, one that no rule covers, and a head."""
    made, before, now = _Chain(side, side, 3), 3, side
    for n in range(blocks):
        made.block(f"encoder/block{n + 1}", repeats, now, before, 32 * 2**n)
        before, now = 32 * 2**n, now // 2
    made.use(layer("gate", "SpatialGate"), now, now, before)
    made.use(layer("mean", "GlobalAveragePooling2D"), before)
    kernel = made.weights("shared/kernel", before, before)
    for _ in range(2):
        made.use(layer("shared", "Dense", kernel, activation="relu"), before)
    made.use(layer("classes", "Dense", made.weights("classes/kernel", before, 1000)), 1000)
    return ModelLayout(
        name="small_resnet",
        kind="Functional",
        variables=tuple(made.variables),
        layers=tuple(made.layers),
        tensors=tuple(made.tensors),
        calls=tuple(made.calls),
        inputs=(0,),
        outputs=(len(made.tensors) - 1,),
        optimizer=OptimizerLayout("Adam"),
        loss="sparse_categorical_crossentropy",
        backend="tensorflow",
    )


def file_subject(**changed: Any) -> MapSubject:
    """The same as a model file with three input sizes."""
    sides = (64, 128, 192)
    subject = MapSubject(
        key="/models/small_resnet.keras",
        title="small_resnet.keras",
        kind="file",
        sizes=tuple(
            SizedLayout(input_size_text([(side, side, 3)]), convolutions(side)) for side in sides
        ),
        own=1,
        limit_bytes=None,
    )
    return replace(subject, **changed)


def told_model(fit: int = 1) -> ModelFacts:
    """A run's facts of it: layers and weights alone."""
    layers = [
        LayerFacts("conv1", "Conv2D", "(None, 64, 64, 32)", "float32", 896, 896, 3584),
        LayerFacts("relu1", "ReLU", "(None, 64, 64, 32)", "float32"),
        LayerFacts("encoder/norm", "BatchNormalization", "", "float32", 128, 64, 512),
        LayerFacts("encoder/conv2", "Conv2D", "", "float32", 9 * 32 * 512, 0, 36 * 32 * 512),
        LayerFacts("classes", "Dense", "(None, 1000)", "float32", 513000, 513000, 2052000),
    ]
    return ModelFacts(
        t_s=1.0,
        fit=fit,
        part=1,
        part_count=1,
        name="resnet50",
        kind="Functional",
        n_layers=len(layers),
        layers=layers,
        parameters=sum(each.parameters for each in layers),
        parameter_bytes=sum(each.parameter_bytes for each in layers),
        optimizer="Adam",
        slots=[SlotFacts("momentum", 3, 2055840), SlotFacts("velocity", 3, 2055840)],
        slot_bytes=2 * 2055840,
        loss="sparse_categorical_crossentropy",
        dtype_policy="float32",
    )


def told_layout(fit: int = 1, batch: int = 32, scale: float = 1.2) -> list[Event]:
    """A run's events of the network: layout and peak, at this scale of the transient bytes."""
    layout = convolutions()
    found = estimate(layout, Plan(batch))
    peak = found.resident_bytes + scale * found.transient_bytes
    between = float(found.resident_bytes)
    return [
        LayoutPart(t_s=1.0, fit=fit, part=1, part_count=1, body=encode_layout(layout)),
        StepPeak(2.0, fit, batch, 5, peak, between, "NVIDIA A100-SXM4-80GB"),
    ]


def whole_map(question: MapQuestion) -> MapResult:
    """All of it at once. Raises: as `begin_map`."""
    result = begin_map(question)
    for _ in completing(question, result):
        pass
    return result
