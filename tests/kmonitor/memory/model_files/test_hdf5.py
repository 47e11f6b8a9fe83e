"""Contents of HDF5 files, whole and damaged; the library fails in its own process."""

import contextlib
import io
import random
import zipfile
from pathlib import Path
from typing import Any

import pytest

h5py: Any = pytest.importorskip("h5py")

from kmonitor.base.errors import UserError  # noqa: E402 - after the skip
from kmonitor.memory.model_files.hdf5 import Hdf5Contents, read_hdf5  # noqa: E402


def written(groups: int = 12) -> bytes:
    """A file with arrays of several kinds, a long text, and a group that it holds twice."""
    file = io.BytesIO()
    with h5py.File(file, "w") as opened:
        opened.attrs["config"] = "x" * 60_000
        opened.attrs["bytes"] = b"some"
        opened.attrs["number"] = 3
        for n in range(groups):
            group = opened.create_group(f"layers/layer_{n}/vars")
            group.attrs["name"] = f"the layer {n} \u00e9"
            group.create_dataset("0", (n, 3), "float32")
            group.create_dataset("1", data=n, dtype=("int64", "float16", "uint8", "bool")[n % 4])
        opened["layers/layer_0/vars/itself"] = opened["layers/layer_0"]
    return file.getvalue()


def stored(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def test_names_shapes_and_texts_are_read_and_no_array(tmp_path: Path):
    found = read_hdf5(stored(tmp_path / "file.h5", written(3)))

    assert [(each.path, each.shape, each.dtype) for each in found.datasets] == [
        ("layers/layer_0/vars/0", (0, 3), "float32"),
        ("layers/layer_0/vars/1", (), "int64"),
        ("layers/layer_1/vars/0", (1, 3), "float32"),
        ("layers/layer_1/vars/1", (), "float16"),
        ("layers/layer_2/vars/0", (2, 3), "float32"),
        ("layers/layer_2/vars/1", (), "uint8"),
    ]
    assert found.attributes["bytes"] == "some"
    assert len(found.attributes["config"]) == 60_000
    assert found.attributes["layers/layer_2/vars@name"] == "the layer 2 \u00e9"
    assert "number" not in found.attributes


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_member_of_a_zip_file_is_read_also_where_it_is_compressed(method: int, tmp_path: Path):
    content = written(3)
    with zipfile.ZipFile(tmp_path / "model.keras", "w", method) as archive:
        archive.writestr("before", b"x" * 99)
        archive.writestr("model.weights.h5", content)

    found = read_hdf5(tmp_path / "model.keras", "model.weights.h5")

    assert found == read_hdf5(stored(tmp_path / "alone.h5", content))
    with pytest.raises(UserError, match="it contains no other"):
        read_hdf5(tmp_path / "model.keras", "other")


@pytest.mark.parametrize("length", [0, 7, 8, 95, 800, 5000])
def test_a_file_that_is_cut_off_is_damaged(length: int, tmp_path: Path):
    with pytest.raises(UserError, match=r"cut\.h5 cannot be read as a model: .*not an HDF5"):
        read_hdf5(stored(tmp_path / "cut.h5", written(3)[:length]))


def test_random_damage_is_said_and_nothing_else_happens(tmp_path: Path):
    whole = written()
    rng = random.Random(1)  # noqa: S311 - no secret

    for n in range(6):
        content = bytearray(whole)
        for _ in range(4**n % 61 + 1):
            content[rng.randrange(len(content))] = rng.choice((0, 255, rng.randrange(256)))
        path = stored(tmp_path / "damaged.h5", bytes(content))
        with contextlib.suppress(UserError):
            assert isinstance(read_hdf5(path), Hdf5Contents)


def test_a_zip_file_whose_member_is_elsewhere_is_damaged(tmp_path: Path):
    path = tmp_path / "model.keras"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("model.weights.h5", written(1))
    content = bytearray(path.read_bytes())
    content[:4] = b"XXXX"

    with pytest.raises(UserError, match="damaged"):
        read_hdf5(stored(path, bytes(content)), "model.weights.h5")
