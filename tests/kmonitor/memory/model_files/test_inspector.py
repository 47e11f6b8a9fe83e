"""Facts from a model file; no damaged one does more than an error."""

import contextlib
import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("h5py", reason="comes with Keras")

from kmonitor.base.errors import UserError
from kmonitor.memory.model_files.description import model_source_of
from kmonitor.memory.model_files.inspection import inspect_file
from tests.support.model_files import (
    CONFIG,
    weights_file,
    weights_of,
    write_archive,
    write_h5,
)

pytestmark = pytest.mark.slow


def test_an_archive_tells_how_it_was_compiled_and_what_each_layer_takes(tmp_path: Path):
    found = inspect_file(write_archive(tmp_path / "model.keras"))

    assert (found.form, found.model, found.kind) == ("keras", "small", "Sequential")
    assert (found.keras_version, found.precision) == ("3.15.1", ("mixed_float16",))
    assert found.compile_settings is not None
    assert found.compile_settings.optimizer == "Adam"
    assert found.compile_settings.settings == {"name": "adam", "learning_rate": 0.25}
    assert (found.compile_settings.loss, found.compile_settings.metrics) == ("mse", ("accuracy",))
    assert found.compile_settings.jit_compile is False
    [layer] = found.layers
    assert (layer.path, layer.kind, layer.parameters) == ("wide", "Dense", 25)
    assert (layer.stored_bytes, layer.shapes) == (100, ((4, 5), (5,)))
    assert (found.weight_bytes, found.slots, found.slot_bytes) == (100, 6, 208)
    assert found.own_parts == ()


def test_an_old_file_tells_the_same(tmp_path: Path):
    found = inspect_file(write_h5(tmp_path / "model.h5"))

    assert (found.form, found.model, found.backend) == ("h5", "small", "tensorflow")
    assert found.compile_settings is not None
    assert (found.compile_settings.optimizer, found.compile_settings.loss) == ("Adam", "mse")
    assert [(each.path, each.kind, each.parameters) for each in found.layers] == [
        ("wide", "Dense", 25)
    ]
    assert (found.slots, found.slot_bytes) == (1, 8)


def test_an_architecture_alone_says_so(tmp_path: Path):
    path = tmp_path / "model.json"
    path.write_text(json.dumps(CONFIG), encoding="utf-8")

    found = inspect_file(path)

    assert (found.form, found.model, found.precision) == ("json", "small", ("mixed_float16",))
    assert (found.layers, found.parameters) == ((), 0)


@pytest.mark.parametrize(
    ("text", "words"),
    [("hello", "not JSON"), ("[1]", "not a JSON object"), ("{}", "does not name a model class")],
)
def test_a_json_file_of_something_else_says_so(tmp_path: Path, text: str, words: str):
    path = tmp_path / "model.json"
    path.write_text(text, encoding="utf-8")

    with pytest.raises(UserError, match=words):
        inspect_file(path)


def layer(kind: str, **config: Any) -> dict[str, Any]:
    """One in a configuration."""
    return {"module": "keras.layers", "class_name": kind, "config": config}


def with_layers(*layers: dict[str, Any]) -> dict[str, Any]:
    """A model's configuration."""
    return {**CONFIG, "config": {"name": "small", "layers": list(layers)}}


def test_what_was_quantized_is_told_by_its_precision(tmp_path: Path):
    dtype = {"class_name": "QuantizedDTypePolicy",
             "config": {"mode": "int8", "source_name": "float32"}}  # fmt: skip
    config = with_layers(layer("Dense", name="wide", dtype=dtype))

    found = inspect_file(write_archive(tmp_path / "model.keras", config=config))

    assert found.precision == ("int8_from_float32",)


def test_parts_that_a_layer_holds_have_their_kind(tmp_path: Path):
    cells = [layer("GRUCell", name="mine")]
    config = with_layers(
        layer("LSTM", name="long"),
        layer("RNN", name="rnn", cell=layer("StackedRNNCells", name="stack", cells=cells)),
        layer("MultiHeadAttention", name="heads"),
    )
    arrays = {"lstm/cell": "lstm_cell", "rnn/cell/cells/gru": "mine", "heads/query": "query"}
    groups = {"lstm": "long", "rnn": "rnn", "rnn/cell": "stack", "heads": "heads"}
    weights = weights_of({name: [(2, 3)] for name in arrays}, {**arrays, **groups})

    found = inspect_file(write_archive(tmp_path / "m.keras", config=config, weights=weights))

    assert {each.path: each.kind for each in found.layers} == {
        "long/lstm_cell": "LSTMCell",
        "rnn/stack/mine": "GRUCell",
        "heads/query": "EinsumDense",
    }


def test_a_kernel_that_is_stored_twice_counts_once(tmp_path: Path):
    wrapped = layer("Conv2D", name="inner")
    config = with_layers(layer("SpectralNormalization", name="outer", layer=wrapped))
    weights = weights_of(
        {"outer/layer": [(3, 3, 2, 4), (4,)], "outer": [(3, 3, 2, 4), (1, 4)]},
        {"outer": "outer", "outer/layer": "inner"},
    )

    found = inspect_file(write_archive(tmp_path / "m.keras", config=config, weights=weights))

    assert found.parameters == 3 * 3 * 2 * 4 + 4 + 4
    assert found.weight_bytes == 4 * (2 * 3 * 3 * 2 * 4 + 4 + 4)


def test_what_is_no_regular_file_is_an_error_at_once(tmp_path: Path):
    for name in ("pipe.keras", "pipe.h5", "pipe.json"):
        os.mkfifo(tmp_path / name)
        (tmp_path / f"device.{name}").symlink_to("/dev/zero")

        for path in (tmp_path / name, tmp_path / f"device.{name}"):
            for opens in (inspect_file, lambda path: model_source_of(str(path))):
                with pytest.raises(UserError, match="not a regular file"):
                    opens(path)


def test_more_layers_than_any_model_has_are_an_error_that_names_the_bound(tmp_path: Path):
    inner = with_layers(*[layer("Dense", name="d")] * 4000)
    config = with_layers(*[inner] * 3)

    for opens in (inspect_file, lambda path: model_source_of(str(path))):
        with pytest.raises(UserError, match="at most 10000 are read"):
            opens(write_archive(tmp_path / "model.keras", config=config))


def test_a_file_of_weights_alone_says_so(tmp_path: Path):
    path = tmp_path / "model.weights.h5"
    path.write_bytes(weights_file())

    found = inspect_file(path)

    assert (found.form, found.model, found.compile_settings) == ("weights", "", None)
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
    with pytest.raises(UserError, match="cannot be read as a model"):
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

    with pytest.raises(UserError, match="too large"):
        inspect_file(path)


@pytest.mark.parametrize("name", ["model.keras", "model.h5"])
def test_foreign_files_are_an_error(tmp_path: Path, name: str):
    for n, contents in enumerate(
        (b"", b"\x00" * 100, b"PK\x03\x04" + b"x" * 50, b"\x89HDF\r\n\x1a\n")
    ):
        path = tmp_path / f"{n}{name}"
        path.write_bytes(contents)

        with pytest.raises(UserError, match="cannot be read as a model"):
            inspect_file(path)


def test_what_is_not_there_or_of_another_kind_is_an_error(tmp_path: Path):
    (tmp_path / "folder.keras").mkdir()
    (tmp_path / "text.txt").write_text("text", encoding="utf-8")

    for name in ("nowhere.keras", "folder.keras", "text.txt"):
        with pytest.raises(UserError):
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
        with contextlib.suppress(UserError):
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

    check_damage(path, whole, places_in(whole, 40, 2))


@pytest.mark.full
def test_a_damaged_weights_file_inside_a_whole_archive_is_an_error_or_tells_what_is_left(
    tmp_path: Path,
):
    whole = weights_file()
    for n, (how, place) in enumerate(places_in(whole, 40, 3)):
        damaged = bytearray(whole)
        damaged[place:] = (
            b"" if how == "cut" else bytes([damaged[place] ^ 255]) + damaged[place + 1 :]
        )
        path = write_archive(tmp_path / f"{n}.keras", weights=bytes(damaged))
        with contextlib.suppress(UserError):
            assert inspect_file(path).file_bytes == path.stat().st_size
