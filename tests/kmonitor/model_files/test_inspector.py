"""What a model file says, and that no damaged one does more than an error."""

import contextlib
import random
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("h5py", reason="comes with Keras")

from kmonitor.errors import Expected
from kmonitor.model_files.inspector import inspect_file
from tests.support.model_files import CONFIG, weights_file, write_archive, write_h5

pytestmark = pytest.mark.slow


def test_an_archive_tells_how_it_was_compiled_and_what_each_layer_takes(tmp_path: Path):
    found = inspect_file(write_archive(tmp_path / "model.keras"))

    assert (found.form, found.model, found.kind) == ("keras", "small", "Sequential")
    assert (found.keras_version, found.precision) == ("3.15.1", ("mixed_float16",))
    assert found.compiled is not None
    assert found.compiled.optimizer == "Adam"
    assert found.compiled.settings == {"name": "adam", "learning_rate": 0.25}
    assert (found.compiled.loss, found.compiled.metrics) == ("mse", ("accuracy",))
    assert found.compiled.jit_compile is False
    [layer] = found.layers
    assert (layer.path, layer.kind, layer.parameters) == ("wide", "Dense", 25)
    assert (layer.stored_bytes, layer.shapes) == (100, ((4, 5), (5,)))
    assert (found.weight_bytes, found.slots, found.slot_bytes) == (100, 6, 208)
    assert found.own_parts == ()


def test_an_old_file_tells_the_same(tmp_path: Path):
    found = inspect_file(write_h5(tmp_path / "model.h5"))

    assert (found.form, found.model, found.backend) == ("h5", "small", "tensorflow")
    assert found.compiled is not None
    assert (found.compiled.optimizer, found.compiled.loss) == ("Adam", "mse")
    assert [(each.path, each.kind, each.parameters) for each in found.layers] == [
        ("wide", "Dense", 25)
    ]
    assert (found.slots, found.slot_bytes) == (1, 8)


def test_a_file_of_weights_alone_says_so(tmp_path: Path):
    path = tmp_path / "model.weights.h5"
    path.write_bytes(weights_file())

    found = inspect_file(path)

    assert (found.form, found.model, found.compiled) == ("weights", "", None)
    assert [each.path for each in found.layers] == ["wide"]


def test_classes_that_are_not_keras_own_are_named(tmp_path: Path):
    own = {"module": "mine", "class_name": "Own", "registered_name": "mine>Own", "config": {}}
    config = {**CONFIG, "config": {"name": "small", "layers": [own]}}

    found = inspect_file(write_archive(tmp_path / "model.keras", config=config))

    assert found.own_parts == ("mine.Own",)


@pytest.mark.parametrize(
    "config",
    [b"", b"{", b"[]", b"3", b"\xff\xfe", b"null", b"[" * 200_000, b'"text"'],
    ids=["empty", "open", "list", "number", "bytes", "null", "deep", "text"],
)
def test_a_configuration_that_is_none_is_an_error(tmp_path: Path, config: bytes):
    with pytest.raises(Expected, match="cannot be read as a model"):
        inspect_file(write_archive(tmp_path / "model.keras", config=config))


@pytest.mark.parametrize(
    "config",
    [{}, {"config": 3}, {"config": {"layers": 3}}, {"config": {"layers": [3, None, {}]}},
     {"class_name": ["x"], "compile_config": {"optimizer": 3, "loss": 7, "metrics": [None]}}],
)  # fmt: skip
def test_odd_values_are_left_out_and_never_raise(tmp_path: Path, config: object):
    assert inspect_file(write_archive(tmp_path / "model.keras", config=config)).parameters == 25


def test_a_bomb_is_an_error_and_takes_little_memory(tmp_path: Path):
    path = write_archive(tmp_path / "model.keras", config=b" " * (65 * 1024**2))
    assert path.stat().st_size < 200_000

    with pytest.raises(Expected, match="larger than any model"):
        inspect_file(path)


@pytest.mark.parametrize("name", ["model.keras", "model.h5"])
def test_foreign_files_are_an_error(tmp_path: Path, name: str):
    for n, contents in enumerate(
        (b"", b"\x00" * 100, b"PK\x03\x04" + b"x" * 50, b"\x89HDF\r\n\x1a\n")
    ):
        path = tmp_path / f"{n}{name}"
        path.write_bytes(contents)

        with pytest.raises(Expected, match="cannot be read as a model"):
            inspect_file(path)


def test_what_is_not_there_or_of_another_kind_is_an_error(tmp_path: Path):
    (tmp_path / "folder.keras").mkdir()
    (tmp_path / "text.txt").write_text("text", encoding="utf-8")

    for name in ("nowhere.keras", "folder.keras", "text.txt"):
        with pytest.raises(Expected):
            inspect_file(tmp_path / name)


def check_damage(path: Path, whole: bytes, places: list[tuple[str, int]]) -> None:
    """Each damaged file gives facts or an error, never anything else."""
    for how, place in places:
        damaged = bytearray(whole)
        if how == "cut":
            del damaged[place:]
        else:
            damaged[place] ^= 1 << (place % 8)
        path.write_bytes(damaged)
        with contextlib.suppress(Expected):
            assert inspect_file(path).file_bytes == path.stat().st_size


def places_in(whole: bytes, n: int, seed: int) -> list[tuple[str, int]]:
    chance = random.Random(seed)  # noqa: S311 - the same damage each time
    return [(chance.choice(["cut", "flip"]), chance.randrange(len(whole))) for _ in range(n)]


@pytest.mark.parametrize(("write", "name"), [(write_archive, "m.keras"), (write_h5, "m.h5")])
def test_damaged_files_are_an_error_or_tell_what_is_left(
    tmp_path: Path, write: Callable[[Path], Path], name: str
):
    path = write(tmp_path / name)
    whole = path.read_bytes()

    check_damage(path, whole, places_in(whole, 6, 1))


@pytest.mark.full
@pytest.mark.parametrize(("write", "name"), [(write_archive, "m.keras"), (write_h5, "m.h5")])
def test_much_damaged_files_too(tmp_path: Path, write: Callable[[Path], Path], name: str):
    path = write(tmp_path / name)
    whole = path.read_bytes()

    check_damage(path, whole, places_in(whole, 80, 2))


@pytest.mark.full
def test_a_damaged_weights_file_inside_a_whole_archive_is_an_error_or_tells_what_is_left(
    tmp_path: Path,
):
    whole = weights_file()
    for n, (how, place) in enumerate(places_in(whole, 80, 3)):
        damaged = bytearray(whole)
        damaged[place:] = (
            b"" if how == "cut" else bytes([damaged[place] ^ 255]) + damaged[place + 1 :]
        )
        path = write_archive(tmp_path / f"{n}.keras", weights=bytes(damaged))
        with contextlib.suppress(Expected):
            assert inspect_file(path).file_bytes == path.stat().st_size
