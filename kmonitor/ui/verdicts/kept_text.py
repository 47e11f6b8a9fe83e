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
from kmonitor_agent.wire.messages.verdict_events import CacheFill

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
    texts = [retained_text(verdict, kept)]
    if _is_full(kept):
        text = tr("it holds no more than {n} objects, but they are growing")
        texts.append(text.format(n=count_text(kept.count)))
    sized = [one for one in verdict.grew_with if one.name and one.kind == "kept_bytes"]
    others = [one for one in sized if one is not _growth_of(kept, verdict)]
    texts += [growth_rate_text(one.name, one, verdict) for one in others]
    end = _end_bytes(kept)
    if end is not None and not _is_full(kept):
        full = tr("full at {n} objects and about {size}")
        texts.append(full.format(n=count_text(kept.capacity or 0), size=bytes_text(end)))
    explained = explained_share(verdict)
    if explained is not None and explained < _NEARLY_ALL:
        part = percent_text(explained)
        texts.append(tr("this explains {part} of the growth").format(part=part))
    return "; ".join(texts)


def filling_cache_text(fill: CacheFill) -> str:
    """Dataset cache that is filling, and its size when full, if that is known."""
    text = tr("the dataset cache is filling up: {steps} of {of_steps} steps").format(
        steps=count_text(fill.steps), of_steps=count_text(fill.of_steps)
    )
    if fill.end_bytes is None:
        return text
    return tr("{text}, about {size} when full").format(text=text, size=bytes_text(fill.end_bytes))


def filling_place_text(verdict: Verdict, kept: KeptObjects) -> str:
    """For example "a cache is filling: 30 of 60 results in load, it will end at about 920 MiB"."""
    if verdict.cause == "buffer":
        text = tr("{place} is a buffer: {n} objects now, it was emptied at {capacity}")
        n, capacity = (count_text(each) for each in (kept.count, kept.capacity or 0))
        return text.format(place=kept.place, n=n, capacity=capacity)
    texts = {
        "functools.lru_cache": tr("a cache is filling: {n} of {capacity} results in {place}"),
        "deque": tr("a deque is filling: {n} of {capacity} objects in {place}"),
        "rows": tr("{place} is filling: {n} of {capacity} rows"),
    }
    text = texts.get(kept.container, tr("{place} is filling: {n} of {capacity} objects"))
    text = text.format(
        n=count_text(kept.count), capacity=count_text(kept.capacity or 0), place=kept.place
    )
    end = _end_bytes(kept)
    if end is None:
        return text
    return tr("{text}, it will end at about {size}").format(text=text, size=bytes_text(end))


def is_about_full_place(verdict: Verdict) -> bool:
    """True if a place is full, was emptied or has stopped growing: it explains an earlier rise."""
    is_quiet = verdict.state in {"measuring", "steady", "cleared"}
    return is_quiet and verdict.cause in {"filling", "buffer"} and verdict.kept is not None


def full_place_text(verdict: Verdict, kept: KeptObjects) -> str:
    """For example "A deque is full: 24 of 24 objects in Log.window, 48 MiB"."""
    if verdict.cause == "buffer":
        text = tr("{place} is a buffer: it was emptied at {n} objects, {size}")
        size = bytes_text(kept.n_bytes or 0.0)
        return text.format(place=kept.place, n=count_text(kept.count), size=size)
    texts = {
        "functools.lru_cache": tr("A cache is full: {n} of {capacity} results in {place}, {size}"),
        "deque": tr("A deque is full: {n} of {capacity} objects in {place}, {size}"),
        "rows": tr("{place} is full: {n} of {capacity} rows, {size}"),
    }
    text = texts.get(kept.container, tr("{place} is full: {n} of {capacity} objects, {size}"))
    if kept.capacity is None:
        text = tr("{place} has stopped growing at {n} objects, {size}")
        if kept.n_bytes is None:
            text = tr("{place} has stopped growing at {n} objects")
    return text.format(
        n=count_text(kept.count),
        capacity=count_text(kept.capacity or 0),
        place=kept.place,
        size=bytes_text(kept.n_bytes or 0.0),
    )


def _is_full(kept: KeptObjects) -> bool:
    return kept.capacity is not None and kept.count >= kept.capacity


def _end_bytes(kept: KeptObjects) -> float | None:
    if kept.n_bytes is None or not kept.capacity or not kept.count:
        return None
    return kept.n_bytes / kept.count * kept.capacity


def explained_share(verdict: Verdict) -> float | None:
    """Share of the growth that retained objects explain; None if no size of them is known."""
    grew = [one.per_unit for one in verdict.grew_with if one.kind == "kept_bytes"]
    is_memory = verdict.metric in {"ram", "vram"}
    if not grew or not is_memory or verdict.slope is None or verdict.slope <= 0.0:
        return None
    return sum(grew) / verdict.slope


def retained_text(verdict: Verdict, kept: KeptObjects) -> str:
    """Objects, their place and how it grows: "...: +12 MiB / epoch (8 \u00d7 1.5 MiB)"."""
    text = kept_place_text(kept)
    one = _growth_of(kept, verdict)
    if one is None:
        return text
    text = growth_rate_text(text, one, verdict)
    if one.kind == "kept_objects" and verdict.cause == "kept":
        return tr("{what} (size not known)").format(what=text)
    is_sized = kept.n_bytes is not None and one.kind == "kept_bytes"
    if not is_sized or kept.count <= 1 or _is_full(kept):
        return text
    each = (kept.n_bytes or 0.0) / kept.count
    size = bytes_text(each)
    n = one.per_unit / each if each > 0.0 else 0.0
    if n < _LEAST_COUNT:
        return tr("{what} ({size} each)").format(what=text, size=size)
    return f"{text} ({counted_change_text(max(1.0, n))} \u00d7 {size})"


_LEAST_COUNT: Final = 0.95
"""Objects a unit from which their number is shown; a step adds less."""


def _growth_of(kept: KeptObjects, verdict: Verdict) -> CorrelatedGrowth | None:
    return next((one for one in verdict.grew_with if one.name == kept.place), None)


def growth_rate_text(what: str, one: CorrelatedGrowth, verdict: Verdict) -> str:
    """Text with the change per unit, as a size where that is counted: "...: +12 MiB / epoch"."""
    is_size = one.kind.endswith("_bytes")
    rate = change_text(one.per_unit, "bytes") if is_size else counted_change_text(one.per_unit)
    return tr("{what}: +{per_unit} / {per}").format(
        what=what, per_unit=rate, per=unit_name(verdict)
    )


def kept_place_text(kept: KeptObjects) -> str:
    """Objects and their place: "NumPy arrays of (32, 10) float32 are retained in Log.history"."""
    if kept.place == "tf.Graph":
        what = tr("dataset functions (from_generator, py_function) and their closures")
        return tr("{what} are retained in {place}").format(
            what=what, place=tr("TensorFlow's root graph")
        )
    if kept.container == "subclasses":
        return tr("classes that derive from {place} are retained").format(place=kept.place)
    if kept.kind == "numpy.memmap":
        return tr(
            "pages of {place} that were written to are copies of those of {file} (a memory map"
            " opened copy-on-write)"
        ).format(place=kept.place, file=kept.container or tr("a file"))
    what = _kind_text(kept)
    places = {
        "Out": tr("Out, the notebook's stored cell outputs"),
        "sys.last_traceback": tr("the frames of the last error (sys.last_traceback)"),
        "weakref.finalize": tr("functions registered with weakref.finalize"),
        "asyncio.all_tasks": tr("asyncio, as tasks that have not ended"),
        "keras.saving.get_custom_objects": tr("Keras' registry of custom objects"),
        "atexit": tr("atexit, which calls them at the exit"),
        "sqlite3": tr("SQLite"),
        "matplotlib.pyplot": tr("pyplot, which retains each figure that is not closed"),
    }
    place = places.get(kept.place, kept.place)
    if kept.container and kept.place not in places:
        place = f"{place} ({_container_text(kept.container)})"
    if not kept.container and kept.count == 1 and kept.place not in places:
        return tr("{place} is growing: {what}").format(place=place, what=what)
    return tr("{what} are retained in {place}").format(what=what, place=place)


def _container_text(container: str) -> str:
    if container == "attributes":
        return tr("attributes")
    if container.startswith(_LINKED):
        return tr("linked {kind} objects").format(kind=container.removeprefix(_LINKED))
    return container


_LINKED: Final = "linked "


def _kind_text(kept: KeptObjects) -> str:
    kinds = {
        "numpy.ndarray": tr("NumPy arrays"),
        "tensorflow.Tensor": tr("TensorFlow tensors"),
        "torch.Tensor": tr("PyTorch tensors"),
        "torch.Tensor with graph": tr("PyTorch tensors with their graphs"),
        "torch.autograd.graph": tr("operations in the graph of a PyTorch tensor"),
        "concurrent._WorkItem": tr("calls that wait for a worker"),
        "jax.Array": tr("JAX arrays"),
        "keras.Variable": tr("Keras variables"),
        "keras.History": _history_text(kept),
        "keras.Model": tr("models"),
        "pandas.DataFrame": tr("DataFrames"),
        "matplotlib.Figure": tr("figures"),
        "tf.data.Dataset": tr("datasets"),
        "tf.data.Iterator": tr("dataset iterators"),
        "function": tr("functions and their closures"),
        "class": tr("classes"),
        "sqlite3.memory": tr("databases in memory or their caches"),
        "method": tr("bound methods, each with its object,"),
        "number": tr("numbers"),
        "object": tr("objects"),
    }
    what = kinds.get(kept.kind) or tr("{kind} objects").format(kind=kept.kind)
    if kept.shape:
        like = f"{kept.shape} {kept.dtype}".strip()
        what = tr("{what} of {like}").format(what=what, like=like)
    if kept.base:
        what = tr("{what}, views that each keep a larger one of {base} alive,").format(
            what=what, base=kept.base
        )
    return tr("items with {what} among what they hold").format(what=what) if kept.is_part else what


def _history_text(kept: KeptObjects) -> str:
    """Objects with a known size share their model, whose size is not known."""
    is_shared = kept.n_bytes is not None
    return tr("History objects") if is_shared else tr("History objects, each with its model,")


def counted_change_text(value: float) -> str:
    """Change of a number of things; small ones with a tenth."""
    # Some hundred thousand blocks are shown to the last digit, two traces with tenths.
    return count_text(value) if value >= _WHOLE_FROM else number_text(round(value, 1))


def kept_advice_text(code: str, verdict: Verdict) -> str:
    """Advice on objects that the script keeps; empty for other advice."""
    place = verdict.kept.place if verdict.kept is not None else tr("the script")
    texts = {
        "float_of_loss": tr(
            "keep float(loss), or loss.detach(), instead of the loss with its graph"
        ),
        "keep_numbers": tr(
            "keep only numbers (float(loss), a mean), or only the most recent objects"
        ),
        "keep_less": tr(
            "keep only what you need of them, such as a number or text, or only the latest"
        ),
        "copy_views": tr(
            "keep a copy of the part, since a view keeps the whole array: array[:10].copy(), or"
            " with PyTorch tensor[:10].clone()"
        ),
        "reset_out": tr("run %reset -f out, and end cells with a semicolon"),
        "clear_last": tr(
            "release the frames of the last error: sys.last_value = sys.last_traceback = None"
        ),
        "close_figures": tr("close each figure: plt.close(figure)"),
        "drop_figures": tr(
            "save each figure, then remove it from {place}: plt.close(figure) does not free what"
            " is kept there"
        ).format(place=place),
        "drop_models": tr(
            "keep numbers, such as history.history, in {place} instead of models and History"
            " objects, which each keep a model; save models that you need to files"
        ).format(place=place),
        "drop_iterators": tr(
            "do not keep iterators in {place}: each has buffers and threads of its own"
        ).format(place=place),
        "dataset_once": tr("create the dataset once, outside the loop"),
        "one_dataset": tr("keep one dataset at a time, or leave out cache()"),
        "copy_part": tr(
            'copy a part before you change it: batch = {place}[a:b].copy(); mode "r+" writes'
            " changes to the file instead"
        ).format(place=place),
        **_limit_texts(place),
        **_registration_texts(),
        **_search_texts(verdict),
        "small_logs": tr(
            "keep only the numbers in history.history: arrays that callbacks put into the logs"
            " stay there"
        ),
        "history_dict": tr("keep history.history instead of the History object"),
    }
    return texts.get(code, "")


def _limit_texts(place: str) -> dict[str, str]:
    """Advice on places whose objects are of use, but not for ever."""
    return {
        "limit_cache": tr(
            "give it a limit that fits into memory: lru_cache(maxsize=...), deque(maxlen=...)"
        ),
        "limit_calls": tr(
            "start a call only while few wait: semaphore.acquire() before {place}.submit(), and"
            " semaphore.release() when it is done"
        ).format(place=place),
        "unsubscribe": tr(
            "remove each from {place} when its object is no longer needed (unsubscribe), or keep"
            " weakref.WeakMethod(method) there"
        ).format(place=place),
        "limit_queue": tr(
            "give it a maximum that fits into memory: queue.Queue(maxsize=...), deque(maxlen=...)"
        ),
    }


def _registration_texts() -> dict[str, str]:
    """Advice on what a script gives to a library again and again."""
    return {
        "register_once": tr(
            "register each class or function once, outside the loop, or remove it:"
            " keras.saving.get_custom_objects().pop(name)"
        ),
        "exit_once": tr(
            "register one function, outside the loop, which handles the newest object, or remove"
            " one by atexit.unregister(function)"
        ),
        "database_in_file": tr(
            "keep the database in a file instead of :memory:, and close connections that are done"
        ),
    }


def _search_texts(verdict: Verdict) -> dict[str, str]:
    """Advice where what retains memory was not found, or no part of the script does."""
    objects = numerous_objects(verdict)
    line = next((one.name for one in verdict.grew_with if one.kind == "python_bytes"), "")
    collect = tr("leave out {what}, or call gc.collect() after each {unit}")
    return {
        "find_holder": tr(
            "find the list, dict or attribute that keeps the {kind} objects: gc.get_referrers()"
            " of one of them shows it; keep only what you need of them"
        ).format(kind=objects),
        "look_at_line": tr(
            "look at {line}: find the list, dict or attribute that keeps what is created there"
        ).format(line=line),
        "bisect": tr(
            "leave out one callback or part of the script at a time, until it no longer grows"
        ),
        "other_malloc": tr("start the script with MALLOC_ARENA_MAX=2, or with jemalloc"),
        "enable_collector": collect.format(what=f"{verdict.name}()", unit=unit_name(verdict)),
    }


def numerous_objects(verdict: Verdict) -> str:
    """Type of objects that a diagnosis saw become more numerous; empty if there is none."""
    names = (one.name for one in verdict.grew_with if one.kind == "kept_objects")
    return "" if verdict.kept is not None else next(names, "")


def collector_text(verdict: Verdict) -> str:
    """Cause of growth while Python's garbage collector is off."""
    if verdict.name == "gc.disable":
        return tr(
            "Python's garbage collector is off (gc.disable), so objects that refer to each other"
            " are never freed"
        )
    return tr(
        "Python's garbage collector hardly runs (gc.set_threshold), so objects that refer to each"
        " other are not freed"
    )


def correlated_growth_text(one: CorrelatedGrowth, verdict: Verdict) -> str:
    """A counter that grew along, with its change per unit: "live traces +2 / epoch"."""
    kinds = {
        "traces": tr("live traces"),
        "retained": tr("traces of models that no longer exist"),
        "disused": tr("traces that are no longer used"),
        "blocks": tr("small blocks allocated by Python"),
        "python_bytes": tr("memory allocated by Python"),
        "allocator_bytes": tr("framework allocator"),
        "native_bytes": tr("memory allocated with malloc"),
        "free_bytes": tr("freed memory retained by malloc"),
        "functions": tr("registered functions"),
        "code": tr("regions of compiled code"),
        "children_bytes": tr("memory of child processes"),
        "kept_bytes": tr("retained objects"),
        "kept_objects": tr("number of retained objects"),
        "named": tr("number of them"),
        "major_faults": tr("major page faults"),
        "collections": tr("full garbage collections"),
        "named_bytes": tr("shared memory"),
        "operations": tr("operations in live traces"),
    }
    is_size = one.kind.endswith("_bytes")
    texts = [
        change_text(value, "bytes") if is_size else counted_change_text(value)
        for value in (one.per_unit, one.low, one.high)
    ]
    what = kinds.get(one.kind, one.kind)
    if one.name:
        what += f" ({one.name})"
    if one.kind == "operations":
        return tr("{what} +{n} in {unit} {number}").format(
            what=what,
            n=texts[0],
            unit=unit_name(verdict),
            number=count_text(verdict.since),
        )
    text = tr("{what} +{per_unit} / {per}").format(
        what=what, per_unit=texts[0], per=unit_name(verdict)
    )
    return text if texts[1] == texts[2] else f"{text} ({texts[1]} \u2013 {texts[2]})"
