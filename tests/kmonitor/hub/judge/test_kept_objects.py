"""Objects that the script keeps are the cause of growth that they explain, and of no other."""

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from msgspec.structs import replace

from kmonitor.hub.judge.run_judge import RunJudge
from kmonitor.ui.text.formats import with_plain_spaces
from kmonitor.ui.verdicts.kept_text import explained_share
from kmonitor.ui.verdicts.verdict_text import evidence_lines
from kmonitor_agent.wire.messages.events import (
    EpochEnded,
    EpochStarted,
    Event,
    FieldSource,
    FieldSources,
    FitEnded,
    FitStarted,
    FunctionTraces,
    GraphSize,
    KeptObjects,
    ObjectsCounted,
    Sample,
    Verdict,
)
from kmonitor_agent.wire.messages.verdict_events import ALARMED_STATES
from tests.support.growing_run import MIB, Growing, events_of, ram_verdicts

ARRAYS = KeptObjects(
    kind="numpy.ndarray",
    count=4,
    n_bytes=32 * MIB,
    shape="(1024, 2048)",
    dtype="float32",
    container="list",
    place="Recorder.history",
)


def counted(
    events: Iterator[Event], kept: Callable[[int], list[KeptObjects]], each: int = 1
) -> Iterator[Event]:
    """The same run, in which what is kept is counted at the end of some units."""
    unit = 0
    for event in events:
        if isinstance(event, EpochEnded):
            unit += 1
            if unit > 3 and unit % each == 0:
                yield ObjectsCounted(event.t_s, event.fit, event.epoch, 0.003, kept(unit))
        yield event


def judged(events: Iterator[Event], metric: str = "ram") -> Verdict:
    judge = RunJudge()
    for event in events:
        judge.read(event.t_s, event)
        judge.judge()
    return next(each for each in judge.newest_verdicts() if each.metric == metric)


def of_arrays(a_unit_mib: float) -> Callable[[int], list[KeptObjects]]:
    def kept(unit: int) -> list[KeptObjects]:
        return [replace(ARRAYS, count=unit, n_bytes=unit * a_unit_mib * MIB)]

    return kept


def test_arrays_that_cover_the_growth_are_its_cause():
    verdict = judged(counted(events_of(Growing(ram_mib=8.0), 30), of_arrays(8.0)))

    assert (verdict.state, verdict.cause, verdict.sureness) == ("suspected", "kept", "counted")
    assert verdict.kept is not None
    assert (verdict.kept.place, verdict.kept.shape) == ("Recorder.history", "(1024, 2048)")
    assert verdict.grew_with[0].per_unit == pytest.approx(8.0 * MIB)
    assert verdict.advice == ["keep_numbers", "restart"]


@pytest.mark.parametrize("seed", range(6))
def test_small_growth_that_was_called_by_a_count_stays_while_both_go_on(seed: int):
    random = np.random.default_rng(seed)
    judge = RunJudge()
    states: list[str] = []
    for event in counted(events_of(Growing(ram_mib=0.65), 40), of_arrays(0.65)):
        if isinstance(event, Sample) and event.ram_bytes is not None:
            noise = random.normal(0.0, 0.4 * MIB)
            judge.read(event.t_s, replace(event, ram_bytes=event.ram_bytes + noise))
        else:
            judge.read(event.t_s, event)
        judge.judge()
        states += [each.state for each in judge.newest_verdicts() if each.metric == "ram"]

    assert "growing" in states
    assert "cleared" not in states


@pytest.mark.parametrize("seed", range(6))
def test_cache_that_meets_the_same_data_more_and_more_often_is_no_leak(seed: int):
    """A dict of 200 files of 1 MiB, of which each epoch reads 20 at random."""
    drawn = np.random.default_rng(seed).integers(0, 200, (40, 20))
    n_cached = [len(set(drawn[: epoch + 1].flat)) for epoch in range(len(drawn))]

    def kept(unit: int) -> list[KeptObjects]:
        n = n_cached[unit - 1]
        return [replace(ARRAYS, count=n, n_bytes=n * MIB, container="dict", place="Reader.cache")]

    judge = RunJudge()
    states: list[str] = []
    for event in counted(events_of(Growing(ram_mib=0.0), 40), kept):
        if isinstance(event, Sample) and event.ram_bytes is not None and event.epoch is not None:
            held_bytes = n_cached[event.epoch] * MIB
            judge.read(event.t_s, replace(event, ram_bytes=event.ram_bytes + held_bytes))
        else:
            judge.read(event.t_s, event)
        judge.judge()
        states += [each.state for each in judge.newest_verdicts() if each.metric == "ram"]

    assert "suspected" not in states
    assert {"rising", "growing"} & set(states)


def test_arrays_that_cover_less_than_a_quarter_are_not_named():
    verdict = judged(counted(events_of(Growing(ram_mib=8.0), 30), of_arrays(1.5)))

    assert (verdict.cause, verdict.kept) == ("unknown", None)


def test_arrays_that_cover_a_quarter_are_named_where_nothing_explains_more():
    verdict = judged(counted(events_of(Growing(ram_mib=8.0), 30), of_arrays(3.0)))

    assert (verdict.state, verdict.cause, verdict.sureness) == ("growing", "kept", "counted")
    assert verdict.kept is not None
    assert explained_share(verdict) == pytest.approx(3 / 8, rel=0.01)
    assert verdict.advice == ["keep_numbers", "diagnose", "restart"]


def test_arrays_that_cover_a_quarter_are_named_where_malloc_keeps_what_is_between_them():
    def with_freed_memory() -> Iterator[Event]:
        unit = 0
        for event in events_of(Growing(ram_mib=8.0), 30):
            if isinstance(event, EpochEnded):
                unit += 1
                yield replace(
                    event,
                    malloc_bytes=(200 + 3.0 * unit) * MIB,
                    malloc_free_bytes=5.0 * unit * MIB,
                )
            else:
                yield event

    verdict = judged(counted(with_freed_memory(), of_arrays(3.0)))

    assert (verdict.state, verdict.cause, verdict.sureness) == ("growing", "kept", "counted")
    assert {"kept_bytes", "free_bytes"} == {one.kind for one in verdict.grew_with}


def test_arrays_that_cover_a_quarter_make_no_growth_of_memory_that_is_steady():
    verdict = judged(counted(events_of(Growing(ram_mib=0.0), 30), of_arrays(3.0)))

    assert (verdict.state, verdict.kept) == ("steady", None)


def fills(*, is_counted_full: bool) -> Iterator[Event]:
    """A cache that is full after 12 of 24 epochs."""
    full = 12

    def rises_no_more(event: Event) -> Event:
        if isinstance(event, Sample) and event.ram_bytes is not None and event.epoch is not None:
            later = max(0, event.epoch - full)
            return replace(event, ram_bytes=event.ram_bytes - later * 8 * MIB)
        return event

    filling = counted(events_of(Growing(ram_mib=8.0), 24), of_arrays(8.0))
    for event in filling:
        if not isinstance(event, ObjectsCounted) or event.epoch < full:
            yield rises_no_more(event)
        elif is_counted_full and event.epoch < full + 4:
            yield replace(event, kept=[])


@pytest.mark.parametrize(("is_counted_full", "units"), [(True, 6), (False, 12)])
def test_a_place_that_no_longer_grows_explains_no_growth(*, is_counted_full: bool, units: int):
    judge = RunJudge()
    open_epochs: list[int] = []
    epoch = 0
    for event in fills(is_counted_full=is_counted_full):
        epoch = event.epoch if isinstance(event, EpochEnded) else epoch
        judge.read(event.t_s, event)
        judge.judge()
        ram = [each for each in judge.newest_verdicts() if each.metric == "ram"]
        if ram and ram[0].state in {*ALARMED_STATES, "slowing"}:
            open_epochs.append(epoch)

    assert open_epochs
    assert open_epochs[-1] - 12 < units


def fills_until(full: int, n: int) -> list[Verdict]:
    """RAM verdicts of a cache of the script's own, which holds no more after some epochs."""

    def of_cache(unit: int) -> list[KeptObjects]:
        # Only places that changed are in a count.
        return of_arrays(8.0)(unit) if unit <= full else []

    def rises_no_more(event: Event) -> Event:
        if isinstance(event, Sample) and event.ram_bytes is not None and event.epoch is not None:
            later = max(0, event.epoch + 1 - full)
            return replace(event, ram_bytes=event.ram_bytes - later * 8 * MIB)
        return event

    judge = RunJudge()
    found: list[Verdict] = []
    for event in map(rises_no_more, counted(events_of(Growing(ram_mib=8.0), n), of_cache)):
        judge.read(event.t_s, event)
        judge.judge()
        if isinstance(event, EpochEnded):
            found += [each for each in judge.newest_verdicts() if each.metric == "ram"]
    return found


@pytest.mark.parametrize("full", [12, 17, 18, 19])
def test_a_place_that_has_stopped_growing_becomes_no_other_cause(full: int):
    said = fills_until(full, 40)

    open_alarms = [each for each in said if each.state in {*ALARMED_STATES, "slowing"}]
    assert {each.cause for each in open_alarms if each.kept or each.unit > 8} == {"kept"}
    assert max(each.unit for each in open_alarms) <= full + 2
    assert not any(each.state == "suspected" for each in said)
    later = [each for each in said if each.unit > full + 2]
    assert {each.state for each in later} == {"cleared"}


def test_the_place_that_has_stopped_growing_is_evidence_once_memory_has():
    last = fills_until(12, 20)[-1]

    lines = [with_plain_spaces(line) for line in evidence_lines(last)]
    assert "Recorder.history has stopped growing at 12 objects, 96.0 MiB" in lines


def test_a_list_that_changes_now_and_then_has_not_stopped():
    verdict = judged(counted(events_of(Growing(ram_mib=8.0), 30), of_arrays(8.0), each=4))

    assert (verdict.state, verdict.cause) == ("suspected", "kept")


def of_places(*a_unit_mib: float) -> Callable[[int], list[KeptObjects]]:
    def kept(unit: int) -> list[KeptObjects]:
        return [
            replace(ARRAYS, count=unit, n_bytes=unit * mib * MIB, place=f"place{n}")
            for n, mib in enumerate(a_unit_mib)
        ]

    return kept


@pytest.mark.parametrize(
    ("a_unit_mib", "named"),
    [
        ((2.0, 5.0), ["place1", "place0"]),
        ((3.0, 3.0), ["place0", "place1"]),
        ((2.0, 2.0, 2.0), ["place0", "place1", "place2"]),
        ((2.0, 1.0, 1.5, 3.0), ["place3", "place0", "place2"]),
        ((7.0, 0.6), ["place0", "place1"]),
        ((7.0, 0.3), ["place0"]),
    ],
)
def test_places_that_explain_growth_together_are_named_largest_first(
    a_unit_mib: tuple[float, ...], named: list[str]
):
    verdict = judged(counted(events_of(Growing(ram_mib=8.0), 30), of_places(*a_unit_mib)))

    assert verdict.cause == "kept"
    assert verdict.kept is not None
    assert verdict.kept.place == named[0]
    assert [one.name for one in verdict.grew_with if one.kind == "kept_bytes"] == named


def test_places_that_explain_less_than_a_quarter_together_are_not_named():
    verdict = judged(counted(events_of(Growing(ram_mib=8.0), 30), of_places(1.0, 0.8)))

    assert (verdict.cause, verdict.kept) == ("unknown", None)


def test_units_that_were_too_short_to_count_in_are_passed_over():
    verdict = judged(counted(events_of(Growing(ram_mib=8.0), 30), of_arrays(8.0), each=7))

    assert verdict.cause == "kept"
    assert verdict.grew_with[0].per_unit == pytest.approx(8.0 * MIB)


def test_what_rises_has_its_cause_before_it_is_judged():
    events = [
        event
        for event in counted(events_of(Growing(ram_mib=8.0), 7), of_arrays(8.0))
        if not isinstance(event, Sample) or event.epoch != 5
    ]

    verdict = judged(iter(events))

    assert (verdict.state, verdict.cause) == ("rising", "kept")


def test_the_first_alarm_has_the_cause_that_was_known_before_it():
    """Bytes from malloc are added evenly, so it is called before the trend of memory is clear."""
    rng, judge, stored = np.random.default_rng(2), RunJudge(), list[Verdict]()
    for event in counted(events_of(Growing(ram_mib=3.0), 20), of_arrays(3.0)):
        match event:
            case Sample(ram_bytes=float(ram_bytes)):
                noise_bytes = float(rng.normal(0.0, 2.5)) * MIB
                judge.read(event.t_s, replace(event, ram_bytes=ram_bytes + noise_bytes))
            case EpochEnded(epoch=epoch):
                judge.read(event.t_s, replace(event, malloc_bytes=3.0 * MIB * epoch))
            case _:
                judge.read(event.t_s, event)
        stored += [each for each in judge.judge() if each.metric == "ram"]

    alarm = next(each for each in stored if each.state in ALARMED_STATES)
    assert alarm.cause == "kept"
    assert alarm.unit < 12


def test_a_set_whose_sizes_scatter_is_named_in_each_unit():
    """Other objects of a set are measured at each count: it may seem smaller with one more."""
    scatter = (0.5, 0.65, 0.8, 0.97, 0.8, 0.85, 0.88, 0.89, 0.9, 0.9)

    def in_a_set(unit: int) -> list[KeptObjects]:
        n_bytes = 8.0 * MIB * unit * scatter[min(unit, 13) - 4]
        return [KeptObjects("method", unit, n_bytes, container="set", place="Bus.subscribers")]

    verdicts = ram_verdicts(counted(events_of(Growing(ram_mib=8.0), 14), in_a_set))

    known = [each.cause for each in verdicts[5:]]
    assert known == ["kept"] * len(known)


def figures(unit: int) -> list[KeptObjects]:
    return [KeptObjects("matplotlib.Figure", unit, None, place="matplotlib.pyplot")]


def test_figures_whose_size_is_not_known_are_named_by_their_number():
    verdict = judged(counted(events_of(Growing(ram_mib=8.0), 30), figures))

    assert (verdict.cause, verdict.advice[0]) == ("kept", "close_figures")
    assert verdict.grew_with[0].kind == "kept_objects"
    assert verdict.grew_with[0].per_unit == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("kind", "advice"),
    [("matplotlib.Figure", "drop_figures"), ("tf.data.Iterator", "drop_iterators")],
)
def test_what_a_list_keeps_is_to_be_dropped_from_it(kind: str, advice: str):
    def in_a_list(unit: int) -> list[KeptObjects]:
        return [KeptObjects(kind, unit, None, container="list", place="Plot.kept")]

    verdict = judged(counted(events_of(Growing(ram_mib=8.0), 30), in_a_list))

    assert verdict.advice == [advice, "restart"]


def test_figures_of_a_few_units_only_are_not_named():
    verdict = judged(counted(events_of(Growing(ram_mib=8.0), 30), lambda unit: figures(unit // 5)))

    assert verdict.cause == "unknown"


def test_two_counts_say_what_each_unit_keeps():
    verdict = judged(counted(events_of(Growing(ram_mib=8.0), 8), figures, each=4))

    assert (verdict.cause, verdict.advice[0]) == ("kept", "close_figures")


def test_two_counts_of_one_more_in_several_units_say_nothing():
    verdict = judged(
        counted(events_of(Growing(ram_mib=8.0), 8), lambda unit: figures(unit // 2), each=4)
    )

    assert verdict.cause == ""


def test_a_graph_that_grows_with_kept_datasets_has_them_as_its_cause():
    """A cached pipeline for each fold: only a function of the pipeline is traced again."""

    def datasets(unit: int) -> list[KeptObjects]:
        return [KeptObjects("tf.data.Dataset", unit, None, container="dict", place="train.folds")]

    def with_graph() -> Iterator[Event]:
        for event in counted(events_of(Growing(ram_mib=8.0, epochs_a_fit=1), 30), datasets):
            if isinstance(event, GraphSize):
                of_map = FunctionTraces("Dataset_map_load", event.fit, 18 * event.fit)
                by_function = [FunctionTraces("one_step_on_data", 1, 100), of_map]
                operations = 100 + of_map.operations
                yield replace(
                    event, operations=operations, traces=1 + event.fit, by_function=by_function
                )
            else:
                yield event

    verdict = judged(with_graph(), "graph")

    assert verdict.state in ALARMED_STATES
    assert verdict.cause == "kept"
    assert verdict.kept is not None
    assert (verdict.kept.place, verdict.advice[0]) == ("train.folds", "one_dataset")


def test_a_root_graph_that_grows_is_the_cause_of_its_own_growth():
    def functions(unit: int) -> list[KeptObjects]:
        return [
            KeptObjects("function", 3 * unit, 2.0 * unit * MIB, container="list", place="tf.Graph")
        ]

    def with_graph() -> Iterator[Event]:
        for event in counted(events_of(Growing(ram_mib=2.5, epochs_a_fit=1), 30), functions):
            is_graph = isinstance(event, GraphSize)
            yield replace(event, operations=700 + 17 * event.fit) if is_graph else event

    verdict = judged(with_graph(), "graph")

    assert verdict.state in ALARMED_STATES
    assert verdict.kept is not None
    assert (verdict.cause, verdict.kept.place) == ("kept", "tf.Graph")
    assert verdict.advice[0] == "dataset_once"


@pytest.mark.parametrize(
    ("kind", "advice"), [("keras.History", "history_dict"), ("keras.Model", "drop_models")]
)
def test_what_keeps_models_that_are_built_again_is_named(kind: str, advice: str):
    def histories(unit: int) -> list[KeptObjects]:
        return [KeptObjects(kind, unit, None, container="list", place="train.runs")]

    def with_allocator() -> Iterator[Event]:
        grows = Growing(ram_mib=8.0, traces=3, epochs_a_fit=1)
        for event in counted(events_of(grows, 30), histories):
            yield (
                replace(event, allocator_in_use_bytes=event.ram_bytes)
                if isinstance(event, Sample)
                else event
            )

    verdict = judged(with_allocator())

    assert verdict.cause == "rebuilt"
    assert verdict.kept is not None
    assert (verdict.kept.place, verdict.advice[0]) == ("train.runs", advice)


@pytest.mark.parametrize(
    ("kept", "advice"),
    [
        (replace(ARRAYS, kind="torch.Tensor with graph"), "float_of_loss"),
        (replace(ARRAYS, kind="torch.autograd.graph", container=""), "float_of_loss"),
        (replace(ARRAYS, place="Out"), "reset_out"),
        (replace(ARRAYS, kind="numpy.memmap", container="x.npy"), "copy_part"),
        (replace(ARRAYS, place="keras.saving.get_custom_objects"), "register_once"),
        (replace(ARRAYS, kind="function", place="atexit"), "exit_once"),
        (replace(ARRAYS, kind="sqlite3.memory", place="sqlite3"), "database_in_file"),
        (replace(ARRAYS, place="sys.last_traceback"), "clear_last"),
        (replace(ARRAYS, kind="function", place="tf.Graph"), "dataset_once"),
        (replace(ARRAYS, kind="tf.data.Dataset"), "one_dataset"),
        (replace(ARRAYS, kind="tf.data.Dataset", container=""), "dataset_once"),
        (replace(ARRAYS, kind="keras.History"), "small_logs"),
        (replace(ARRAYS, base="(8192, 2048)"), "copy_views"),
        (replace(ARRAYS, kind="pandas.DataFrame"), "keep_numbers"),
        (replace(ARRAYS, kind="object"), "keep_less"),
        (replace(ARRAYS, container="functools.cache"), "limit_cache"),
        (replace(ARRAYS, kind="function"), "keep_less"),
        (replace(ARRAYS, container="Queue"), "limit_queue"),
        (replace(ARRAYS, container="SimpleQueue"), "limit_queue"),
        (replace(ARRAYS, kind="concurrent._WorkItem", container="SimpleQueue"), "limit_calls"),
        (replace(ARRAYS, kind="method"), "unsubscribe"),
        (replace(ARRAYS, container="deque"), "limit_queue"),
        (replace(ARRAYS, place="Agent.memory"), "limit_queue"),
        (replace(ARRAYS, place="Agent.memory", kind="number"), "keep_numbers"),
    ],
)
def test_each_kind_has_the_remedy_that_helps(kept: KeptObjects, advice: str):
    def counts(unit: int) -> list[KeptObjects]:
        n = 1 if kept.kind == "tf.data.Dataset" and not kept.container else unit
        return [replace(kept, count=n, n_bytes=8 * MIB * unit)]

    verdict = judged(counted(events_of(Growing(ram_mib=8.0), 30), counts))

    assert verdict.advice == [advice, "restart"]


@pytest.mark.parametrize(
    ("container", "a_unit", "advice"),
    [
        ("dict", 600, ["limit_cache", "keep_numbers", "restart"]),
        ("dict", 1, ["keep_numbers", "restart"]),
        ("list", 600, ["keep_numbers", "restart"]),
    ],
)
def test_a_dict_with_many_new_arrays_a_unit_may_be_a_cache(
    container: str, a_unit: int, advice: list[str]
):
    def counts(unit: int) -> list[KeptObjects]:
        n_bytes = 8 * MIB * unit
        return [replace(ARRAYS, container=container, count=a_unit * unit, n_bytes=n_bytes)]

    verdict = judged(counted(events_of(Growing(ram_mib=8.0), 30), counts))

    assert verdict.advice == advice


def test_more_objects_with_an_array_are_no_growth_of_that_array():
    def counts(unit: int) -> list[KeptObjects]:
        n = 2 + unit % 2 * (unit // 4)
        found = replace(ARRAYS, container="", place="Trainer.data", count=n, n_bytes=8 * MIB * n)
        listed = replace(ARRAYS, place="Bus.listeners", count=unit, n_bytes=8 * MIB * unit)
        return [found, listed]

    verdicts = ram_verdicts(counted(events_of(Growing(ram_mib=8.0), 30), counts))

    named = {one.name for each in verdicts for one in each.grew_with if one.kind == "kept_bytes"}
    assert named == {"Bus.listeners"}


def test_a_list_that_will_not_fit_once_filled_is_to_keep_less():
    def counts(unit: int) -> list[KeptObjects]:
        return [replace(ARRAYS, count=unit, n_bytes=8 * MIB * unit, capacity=1000)]

    grows = Growing(ram_mib=8.0, ram_of_bytes=2000.0 * MIB)
    verdict = judged(counted(events_of(grows, 30), counts))

    assert (verdict.cause, verdict.advice[0]) == ("kept", "keep_numbers")


def test_memory_of_a_device_explains_no_growth_of_ram():
    def on_device(unit: int) -> list[KeptObjects]:
        return [replace(ARRAYS, n_bytes=8 * MIB * unit, is_on_device=True)]

    verdict = judged(counted(events_of(Growing(ram_mib=8.0), 30), on_device))

    assert verdict.cause == "unknown"


def test_what_a_long_epoch_keeps_is_named_within_it():
    def events() -> Iterator[Event]:
        yield FitStarted(0.0, fit=1, model="m", epochs=1)
        yield EpochStarted(0.0, fit=1, epoch=0)
        for second in range(1, 60):
            ram = (500 + 8 * second) * MIB
            yield Sample(float(second), fit=1, step=19 * second, ram_bytes=ram, ram_of_bytes=8e9)
            if second > 4:
                kept = [replace(ARRAYS, count=second, n_bytes=8 * MIB * second)]
                yield ObjectsCounted(second + 0.5, 1, 0, 0.003, kept)

    verdict = judged(events())

    assert (verdict.per, verdict.cause) == ("step", "kept")
    assert verdict.grew_with[0].per_unit == pytest.approx(8 * MIB / 19, rel=0.1)


def test_fits_that_each_keep_something_are_judged_by_fits():
    grows = Growing(ram_mib=8.0, epochs_a_fit=2)
    fits = iter(range(1, 31))

    def events() -> Iterator[Event]:
        for event in events_of(grows, 30):
            if isinstance(event, FitEnded):
                unit = next(fits)
                kept = [replace(ARRAYS, count=unit, n_bytes=8 * MIB * unit)]
                yield ObjectsCounted(event.t_s, event.fit, 1, 0.003, kept)
            yield event

    verdict = judged(events())

    assert (verdict.per, verdict.cause) == ("fit", "kept")


TENSORS = replace(ARRAYS, kind="tensorflow.Tensor", place="Lookahead.history")


def on_host(kept: KeptObjects, allocator_mib: float, kept_mib: float = 8.0) -> Iterator[Event]:
    """A run on the CPU whose memory and TensorFlow's allocator of host memory grow."""
    source = FieldSource("allocator_in_use_bytes", "bytes", "tensorflow allocator, CPU:0 in use")
    yield FieldSources(t_s=0.0, sources=[source])

    def kept_at(unit: int) -> list[KeptObjects]:
        return [replace(kept, count=unit, n_bytes=unit * kept_mib * MIB)]

    for event in counted(events_of(Growing(ram_mib=8.0), 30), kept_at):
        if isinstance(event, Sample) and event.epoch is not None:
            in_use = (40 + allocator_mib * event.epoch) * MIB
            yield replace(event, allocator_in_use_bytes=in_use, vram_bytes=in_use)
        else:
            yield event


@pytest.mark.parametrize("kind", ["tensorflow.Tensor", "keras.Variable", "object"])
def test_tensors_on_the_host_explain_its_allocator_as_they_explain_ram(kind: str):
    events = list(on_host(replace(TENSORS, kind=kind), 8.0))

    ram, allocator = (judged(iter(events), metric) for metric in ("ram", "vram"))

    assert allocator.on_host
    assert (allocator.cause, allocator.sureness) == ("kept", "counted")
    assert allocator.kept == ram.kept
    assert allocator.advice == ram.advice


@pytest.mark.parametrize(("kept", "cause"), [(TENSORS, "kept"), (ARRAYS, "tensors")])
def test_tensors_that_are_held_are_named_where_their_copies_grow_too(
    kept: KeptObjects, cause: str
):
    verdict = judged(on_host(kept, 5.0, 3.0))

    assert (verdict.state, verdict.cause) == ("suspected", cause)


def test_arrays_of_numpy_do_not_explain_an_allocator_of_tensors():
    verdict = judged(on_host(ARRAYS, 8.0), "vram")

    assert (verdict.cause, verdict.kept) == ("tensors", None)


def test_objects_that_grow_much_faster_do_not_explain_an_allocator():
    verdict = judged(on_host(replace(TENSORS, kind="object"), 4.0), "vram")

    assert (verdict.cause, verdict.kept) == ("tensors", None)


def scattered(events: Iterator[Event]) -> Iterator[Event]:
    """The same run with memory that rises by turns much, and little."""
    for event in events:
        if isinstance(event, Sample) and event.ram_bytes is not None and event.epoch is not None:
            yield replace(event, ram_bytes=event.ram_bytes + event.epoch % 3 * 6 * MIB)
        else:
            yield event


def alarms(
    kept_mib: Callable[[int], float], n: int = 9, *, each: int = 1, scatters: bool = True
) -> list[int]:
    """Units after which RAM is called growing."""

    def kept(unit: int) -> list[KeptObjects]:
        return [replace(ARRAYS, count=unit, n_bytes=kept_mib(unit) * MIB)]

    judge = RunJudge()
    called: list[int] = []
    events = counted(events_of(Growing(ram_mib=8.0), n), kept, each)
    for event in scattered(events) if scatters else events:
        judge.read(event.t_s, event)
        new = judge.judge()
        called += [one.unit for one in new if one.metric == "ram" and one.state == "growing"]
    return called


def test_bytes_that_are_kept_evenly_are_called_within_eight_units_however_memory_scatters():
    assert alarms(lambda unit: 8.0 * unit)[:1] == [8]


@pytest.mark.parametrize(
    "kept_mib",
    [
        lambda unit: 60.0 * (1.0 - 0.8**unit),
        lambda unit: 8.0 * (unit % 6),
        lambda unit: 8.0 * max(0, unit - 3),
        lambda unit: 3.0 * unit,
    ],
    ids=["fills", "is cleared", "has just begun", "is a small part"],
)
def test_bytes_that_are_kept_otherwise_wait_for_a_trend(kept_mib: Callable[[int], float]):
    assert not alarms(kept_mib)


def test_two_counts_suffice_where_memory_rises_evenly_by_as_much():
    assert alarms(lambda unit: 7.0 * unit, each=3, scatters=False) == [9]


@pytest.mark.parametrize(
    ("kept_mib", "scatters"),
    [(lambda unit: 6.0 * unit, False), (lambda unit: 8.0 * unit, True)],
    ids=["it is less", "memory scatters"],
)
def test_two_counts_do_not_suffice_where_memory_disagrees(
    kept_mib: Callable[[int], float], *, scatters: bool
):
    assert not alarms(kept_mib, each=3, scatters=scatters)
