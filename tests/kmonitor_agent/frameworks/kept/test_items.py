"""Items that hold several things: what they are called, and that nothing in them counts twice."""

import mmap
import weakref
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest

from kmonitor_agent.frameworks.kept.buffers import bytes_of_buffer
from kmonitor_agent.frameworks.kept.search import KeptObjectWalk
from kmonitor_agent.frameworks.kept.sizes import size_of
from kmonitor_agent.wire.messages.events import KeptObjects

pytestmark = pytest.mark.usefixtures("this_module_alone")

MIB = 2**20


class Recorder:
    """A callback of the script's."""

    def __init__(self, held: Any) -> None:
        self.held = held


def array(mib: float = 1.0) -> Any:
    return np.zeros((int(mib * 1024), 256), "float32")


def of_recorder(walk: KeptObjectWalk, held: Any) -> list[KeptObjects]:
    """Findings in a recorder; the search also sees what pytest keeps of parametrized tests."""
    found = walk.search([Recorder(held)], None)
    return [each for each in found if each.place.startswith("Recorder.")]


def last_search(
    held: dict[int, Any], make: Callable[[], Any], times: int = 4
) -> list[KeptObjects]:
    """Findings of the last of several searches, between which a dict gets new values."""
    found: list[KeptObjects] = []
    lengths = None
    for _ in range(times):
        held.update({len(held) + n: make() for n in range(3)})
        walk = KeptObjectWalk(lengths)
        found = of_recorder(walk, held)
        lengths = walk.lengths
    return found


def result() -> dict[str, Any]:
    return {"images": array(4.0), "scores": array(), "pred": [float(n) for n in range(40_000)]}


def test_a_list_in_each_item_counts_with_the_items_only():
    found = last_search({}, result)

    assert [each.place for each in found] == ["Recorder.held"]
    assert found[0].n_bytes == pytest.approx(12 * (5.0 * MIB + 40_000 * 40), rel=0.02)


def test_a_list_that_grows_in_a_dict_of_constant_length_is_named():
    columns: dict[str, list[Any]] = {"loss": [], "images": []}
    found: list[KeptObjects] = []
    lengths = None
    for n in range(4):
        columns["loss"].append(float(n))
        columns["images"].append(array())
        walk = KeptObjectWalk(lengths)
        found = of_recorder(walk, columns)
        lengths = walk.lengths

    assert [each.place for each in found] == ['Recorder.held["images"]']


@pytest.mark.parametrize(
    ("make", "shape", "is_part"),
    [
        (lambda: {"image": array(2.0), "text": "x"}, "(2048, 256)", False),
        (lambda: (array(), array()), "(1024, 256)", True),
        (lambda: [array(0.25) for _ in range(8)], "(256, 256)", True),
        (result, "(4096, 256)", True),
    ],
)
def test_items_are_called_by_an_array_only_if_they_are_that_array(
    *, make: Callable[[], Any], shape: str, is_part: bool
):
    (found, *_) = last_search({}, make)

    assert (found.kind, found.shape, found.is_part) == ("numpy.ndarray", shape, is_part)


@pytest.mark.parametrize(
    ("make", "base"),
    [
        (lambda: array()[:10], "(1024, 256)"),
        (lambda: array()[:10][:2], "(1024, 256)"),
        (lambda: array().reshape(256, 1024)[:1000], ""),
        (array()[:10].copy, ""),
        (array, ""),
    ],
)
def test_views_name_the_array_that_they_keep(make: Callable[[], Any], base: str):
    assert size_base(make()) == base


def size_base(value: Any) -> str:
    size = size_of(value)
    assert size is not None
    return size.base


def test_views_in_a_list_are_found_with_the_array_that_each_keeps():
    (found,) = last_search({}, lambda: array()[:10])

    assert (found.shape, found.base) == ("(10, 256)", "(1024, 256)")
    assert found.n_bytes == 12 * MIB


def test_views_of_tensors_name_what_they_keep():
    torch = pytest.importorskip("torch")

    assert size_base(torch.zeros(1024, 256)[:10]) == "(262144,)"
    assert size_base(torch.zeros(1024, 256)[:10].clone()) == ""
    assert size_base(torch.zeros(1024, 256).T) == ""


def test_bytes_that_a_bytearray_reserves_do_not_count():
    held = bytearray()
    for _ in range(9):
        held += bytes(MIB)
    (found,) = of_recorder(KeptObjectWalk(), held)

    assert (found.kind, found.n_bytes) == ("bytearray", pytest.approx(9 * MIB, rel=0.0001))


def test_anonymous_memory_is_measured_and_pages_of_a_file_are_not(tmp_path: Any):
    path = tmp_path / "data"
    path.write_bytes(bytes(MIB))
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as pages:
        of_file = bytes_of_buffer(pages)

    found = last_search({}, lambda: mmap.mmap(-1, MIB))

    assert of_file == 0
    assert [(each.kind, each.n_bytes) for each in found] == [
        ("mmap.mmap", pytest.approx(12 * MIB, rel=0.01))
    ]


def test_closed_memory_map_takes_nothing():
    pages = mmap.mmap(-1, MIB)
    pages.close()

    assert bytes_of_buffer(pages) == 0


def test_first_array_of_a_list_of_constant_length_may_grow():
    parts = [array(), *(array(0.01) for _ in range(60))]
    walk = KeptObjectWalk()
    of_recorder(walk, parts)
    parts[0] = array(3)

    (found,) = of_recorder(KeptObjectWalk(walk.lengths), parts)

    assert (found.place, found.container, found.n_bytes) == ("Recorder.held", "", 3 * MIB)


def test_the_smaller_last_batch_of_an_epoch_does_not_name_the_others():
    held = [array(0.75 if n % 5 == 4 else 1.0) for n in range(20)]

    (found,) = of_recorder(KeptObjectWalk(), held)

    assert (found.shape, found.n_bytes) == ("(1024, 256)", 19 * MIB)


def test_of_arrays_that_all_differ_the_newest_is_named():
    held = [array(1.0 + n) for n in range(4)]

    (found,) = of_recorder(KeptObjectWalk(), held)

    assert found.shape == "(4096, 256)"


@pytest.mark.parametrize(
    ("make", "each"),
    [(float, 40), (lambda n: n + 1000, 40), (lambda n: n % 5, 8), (lambda _: None, 8)],
)
def test_numbers_count_as_python_allocates_them(make: Callable[[int], Any], each: int):
    (found,) = of_recorder(KeptObjectWalk(), [make(n) for n in range(400_000)])

    assert (found.kind, found.n_bytes) == ("number", 400_000 * each)


def test_items_of_which_three_share_an_array_count_most_of_each_array():
    held: list[Any] = []
    for _ in range(10):
        shared = array(4.0)
        held += [{"data": shared, "n": n} for n in range(3)]

    (found,) = of_recorder(KeptObjectWalk(), held)

    assert 0.75 * 40 * MIB <= (found.n_bytes or 0.0) <= 1.1 * 40 * MIB


def fails(number: int) -> None:
    outputs = array()
    raise ValueError(number, outputs.shape)


class Loader(Recorder):
    """Keeps each error, whose frames refer to the loader."""

    def load(self, number: int) -> None:
        try:
            fails(number)
        except ValueError as exc:
            self.held.append(exc)


def test_errors_count_with_the_arrays_in_their_frames():
    loader = Loader([])
    for number in range(20):
        loader.load(number)

    kept = KeptObjectWalk().search([loader], None)

    (found,) = (each for each in kept if each.place == "Loader.held")
    assert (found.kind, found.count) == ("ValueError", 20)
    assert found.n_bytes == pytest.approx(20 * MIB, rel=0.05)


def image(**fields: Any) -> Any:
    made = type("Image", (), {"__module__": "PIL.Image"})()
    vars(made).update(fields)
    return made


@pytest.mark.parametrize(
    ("fields", "n_bytes"),
    [
        ({"_size": (512, 256), "_mode": "RGB", "_im": object()}, 2**19),
        ({"size": (512, 256), "mode": "L", "im": object()}, 2**17),
        ({"_size": (512, 256), "_mode": "I;16", "_im": object()}, 2**18),
        ({"_size": (512, 256), "_mode": "RGB", "_im": None}, 0),
        ({"_size": "512", "_mode": "RGB", "_im": object()}, 0),
        ({}, 0),
    ],
)
def test_images_are_measured_by_their_pixels(*, fields: dict[str, Any], n_bytes: int):
    assert bytes_of_buffer(image(**fields)) == n_bytes


def test_images_in_a_list_are_named_and_measured():
    held = [image(_size=(512, 512), _mode="RGB", _im=object()) for _ in range(8)]

    (found,) = of_recorder(KeptObjectWalk(), held)

    assert (found.kind, found.count) == ("PIL.Image.Image", 8)
    assert found.n_bytes == 8 * MIB


def of_unknown_size() -> Any:
    return msgspec.json.Encoder()


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (of_unknown_size, "msgspec.json.Encoder"),
        (lambda: Recorder(of_unknown_size()), f"{__name__}.Recorder"),
        (lambda: (1, of_unknown_size()), "object"),
    ],
)
def test_objects_of_a_compiled_library_are_counted_once_there_are_more(
    make: Callable[[], Any], kind: str
):
    held = [make() for _ in range(4)]
    walk = KeptObjectWalk()
    first = of_recorder(walk, held)
    held += [make() for _ in range(4)]
    (then,) = of_recorder(KeptObjectWalk(walk.lengths), held)

    assert first == []
    assert (then.kind, then.count, then.n_bytes) == (kind, 8, None)


def test_an_object_of_a_compiled_library_beside_a_large_array_is_measured():
    found = last_search({}, lambda: (array(), of_unknown_size()))

    assert [each.n_bytes for each in found] == [pytest.approx(12 * MIB, rel=0.01)]


class Weak:
    pass


@pytest.mark.parametrize(
    "make",
    [lambda: weakref.proxy(Recorder), Weak, np.random.default_rng, lambda: "x" * 99],
)
def test_small_objects_of_python_and_the_frameworks_are_not_counted(make: Callable[[], Any]):
    assert last_search({}, make) == []
