"""The model of a run's last fit: how it was trained, its size, its layers."""

from collections.abc import Sequence

from kmonitor.ui.report.markup import Markup, Part, tag
from kmonitor.ui.report.tables import Head, facts, table
from kmonitor.ui.text.formats import bytes_text, count_text, number_text
from kmonitor.ui.text.language import tr
from kmonitor_agent.wire.messages.events import FitStarted, LayerFacts, ModelFacts


def model_section(parts: Sequence[ModelFacts], fit: FitStarted | None) -> Markup:
    """The model with all layers that were told.

    Args:
        parts: Of one fit's model.
        fit: How that fit was called; None: none was.
    """
    title = tag("h2", tr("Model"))
    if not parts:
        return tag("section", title, tag("p", tr("No model was told."), class_="mute"))
    layers = [layer for part in parts for layer in part.layers]
    return tag(
        "section",
        title,
        facts(_model_facts(parts[0], fit)),
        tag("h2", tr("Layers")) if layers else "",
        table(_heads(), [_layer(layer) for layer in layers]) if layers else "",
    )


def _model_facts(model: ModelFacts, fit: FitStarted | None) -> list[tuple[str, str]]:
    slots = ", ".join(f"{slot.name} {bytes_text(slot.n_bytes)}" for slot in model.slots)
    size = tr("{n} ({size})").format(
        n=count_text(model.parameters), size=bytes_text(model.parameter_bytes)
    )
    state = bytes_text(model.slot_bytes) if model.slot_bytes else ""
    told = [
        (tr("Name"), model.name),
        (tr("Class"), model.kind),
        (tr("Parameters"), size),
        (tr("Layers"), count_text(model.n_layers)),
        (tr("Optimizer"), model.optimizer),
        (tr("Optimizer state"), f"{state} ({slots})" if state and slots else state),
        (tr("Loss"), model.loss),
        (tr("Precision"), model.dtype_policy),
    ]
    return told + (_fit_facts(fit) if fit is not None else [])


def _fit_facts(fit: FitStarted) -> list[tuple[str, str]]:
    rate = fit.learning_rate
    return [
        (tr("Fit"), count_text(fit.fit)),
        (tr("Epochs"), count_text(fit.epochs) if fit.epochs else ""),
        (tr("Steps an epoch"), count_text(fit.steps) if fit.steps else ""),
        (tr("Batch size"), count_text(fit.batch_size) if fit.batch_size else ""),
        (tr("Learning rate"), number_text(rate) if rate is not None else ""),
        (tr("Compiled by XLA"), "" if fit.jit_compile is None else _yes(is_so=fit.jit_compile)),
        (tr("Without a graph"), _yes(is_so=True) if fit.run_eagerly else ""),
    ]


def _yes(*, is_so: bool) -> str:
    return tr("yes") if is_so else tr("no")


def _heads() -> list[Head]:
    return [
        Head(tr("Layer"), "long"),
        Head(tr("Class")),
        Head(tr("Output")),
        Head(tr("Parameters"), "number"),
        Head(tr("Trainable"), "number"),
        Head(tr("Size"), "number"),
        Head(tr("Precision")),
    ]


def _layer(layer: LayerFacts) -> list[Part]:
    return [
        layer.name,
        layer.kind,
        layer.output_shape,
        count_text(layer.parameters),
        count_text(layer.trainable_parameters),
        bytes_text(layer.parameter_bytes),
        layer.dtype,
    ]
