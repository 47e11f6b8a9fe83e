"""Objects that the script keeps, as text: their kind and place, and what they explain."""

from typing import Final

from kmonitor.ui.text.formats import (
    bytes_text,
    change_text,
    count_text,
    number_text,
    percent_text,
)
from kmonitor.ui.text.language import tr
from kmonitor.ui.verdicts.time_text import unit_name
from kmonitor_agent.wire.messages.events import CorrelatedGrowth, KeptObjects, Verdict

_WHOLE_FROM: Final = 10.0

_NEARLY_ALL: Final = 0.8
"""Share of the growth from which a cause explains it: the rest is in what the objects hold."""


def kept_text(verdict: Verdict) -> str:
    """For example "NumPy arrays of (32, 10) float32 are retained in Log.history: +12 / epoch".

    Other places that are part of the growth follow, and its part that all of them explain, if that
    is not nearly all.
    """
    kept = verdict.kept
    if kept is None:
        return tr("the script retains more and more objects")
    first = next((one for one in verdict.grew_with if one.name == kept.place), None)
    texts = [_first_place_text(kept, first, verdict)]
    sized = [one for one in verdict.grew_with if one.name and one.kind == "kept_bytes"]
    texts += [_rate_text(one.name, one, verdict) for one in sized if one is not first]
    explained = explained_share(verdict)
    if explained is not None and explained < _NEARLY_ALL:
        part = percent_text(explained)
        texts.append(tr("this explains {part} of the growth").format(part=part))
    return "; ".join(texts)


def explained_share(verdict: Verdict) -> float | None:
    """Share of the growth that retained objects explain; None if no size of them is known."""
    grew = [one.per_unit for one in verdict.grew_with if one.kind == "kept_bytes"]
    is_memory = verdict.metric in {"ram", "vram"}
    if not grew or not is_memory or verdict.slope is None or verdict.slope <= 0.0:
        return None
    return sum(grew) / verdict.slope


def _first_place_text(kept: KeptObjects, one: CorrelatedGrowth | None, verdict: Verdict) -> str:
    text = kept_place_text(kept)
    if one is None:
        return text
    text = _rate_text(text, one, verdict)
    if kept.n_bytes is None or kept.count <= 1:
        return text
    return tr("{what}, {size} each").format(what=text, size=bytes_text(kept.n_bytes / kept.count))


def _rate_text(what: str, one: CorrelatedGrowth, verdict: Verdict) -> str:
    is_size = one.kind == "kept_bytes"
    rate = change_text(one.per_unit, "bytes") if is_size else counted_change_text(one.per_unit)
    return tr("{what}: +{per_unit} / {per}").format(
        what=what, per_unit=rate, per=unit_name(verdict)
    )


def kept_place_text(kept: KeptObjects) -> str:
    """Objects and their place: "NumPy arrays of (32, 10) float32 are retained in Log.history"."""
    kinds = {
        "numpy.ndarray": tr("NumPy arrays"),
        "tensorflow.Tensor": tr("TensorFlow tensors"),
        "torch.Tensor": tr("PyTorch tensors"),
        "torch.Tensor with graph": tr("PyTorch tensors with their graphs"),
        "jax.Array": tr("JAX arrays"),
        "keras.Variable": tr("Keras variables"),
        "keras.History": tr("History objects, each with its model,"),
        "keras.Model": tr("models"),
        "pandas.DataFrame": tr("DataFrames"),
        "matplotlib.Figure": tr("figures"),
        "tf.data.Dataset": tr("datasets"),
        "tf.data.Iterator": tr("dataset iterators"),
        "function": tr("functions and their closures"),
        "number": tr("numbers"),
        "object": tr("objects"),
    }
    if kept.place == "tf.Graph":
        what = tr("dataset functions (from_generator, py_function) and their closures")
        return tr("{what} are retained in {place}").format(
            what=what, place=tr("TensorFlow's root graph")
        )
    what = kinds.get(kept.kind) or tr("{kind} objects").format(kind=kept.kind)
    if kept.shape:
        like = f"{kept.shape} {kept.dtype}".strip()
        what = tr("{what} of {like}").format(what=what, like=like)
    places = {
        "Out": tr("Out, the notebook's stored cell outputs"),
        "sys.last_traceback": tr("the frames of the last error (sys.last_traceback)"),
        "weakref.finalize": tr("functions registered with weakref.finalize"),
        "matplotlib.pyplot": tr("pyplot, which retains each figure that is not closed"),
    }
    place = places.get(kept.place, kept.place)
    if kept.container and kept.place not in places:
        place = f"{place} ({kept.container})"
    if not kept.container and kept.count == 1 and kept.place not in places:
        return tr("{place} is growing: {what}").format(place=place, what=what)
    return tr("{what} are retained in {place}").format(what=what, place=place)


def counted_change_text(value: float) -> str:
    """Change of a number of things; small ones with a tenth."""
    # Some hundred thousand blocks are shown to the last digit, two traces with tenths.
    return count_text(value) if value >= _WHOLE_FROM else number_text(round(value, 1))
