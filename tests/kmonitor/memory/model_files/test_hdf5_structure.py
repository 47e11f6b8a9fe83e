"""HDF5 files read without HDF5's library, whole and damaged."""

import contextlib
import io
import random
import struct
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import pytest

h5py: Any = pytest.importorskip("h5py")

from kmonitor.base.errors import UserError  # noqa: E402 - after the skip
from kmonitor.memory.model_files import hdf5  # noqa: E402
from kmonitor.memory.model_files.hdf5 import read_hdf5  # noqa: E402
from kmonitor.memory.model_files.hdf5_parser import (  # noqa: E402  # noqa: E402
    DamagedHdf5,
    Hdf5Object,
    UnknownForm,
    read_structure,
)

MIB = 2**20


def written(libver: str = "earliest", groups: int = 60, text: str = "x" * 70_000) -> bytes:
    """A file with groups enough for a tree of names, arrays of several kinds, and long texts."""
    file = io.BytesIO()
    with h5py.File(file, "w", libver=libver) as opened:
        opened.attrs["config"] = text
        opened.attrs["bytes"] = b"some"
        opened.attrs["fixed"] = b"fixed"
        opened.attrs["number"] = 3
        for n in range(groups):
            group = opened.create_group(f"layers/layer_{n}/vars")
            group.attrs["name"] = f"the layer {n} \u00e9"
            group.create_dataset("0", (n, 3), "float32")
            group.create_dataset("1", data=n, dtype=("int64", "float16", "uint8", "bool")[n % 4])
        opened["layers/again"] = opened["layers/layer_0"]
    return file.getvalue()


def things(content: bytes, begin: int = 0) -> list[Hdf5Object]:
    return list(read_structure(io.BytesIO(content), begin, len(content) - begin))


@pytest.mark.parametrize("libver", ["earliest", "v108"])
def test_a_file_is_told_as_its_own_library_does(libver: str, monkeypatch: Any, tmp_path: Path):
    path = tmp_path / "file.h5"
    path.write_bytes(written(libver, groups=7 if libver == "v108" else 60))

    ours = read_hdf5(path)

    monkeypatch.setattr(hdf5, "_read_in_process", _refuse)
    theirs = read_hdf5(path)
    assert ours.datasets == theirs.datasets
    assert ours.attributes == theirs.attributes


def _refuse(*_: Any) -> None:
    raise UnknownForm


def test_a_member_of_a_zip_file_is_read_in_place_and_a_compressed_one_elsewhere(tmp_path: Path):
    content = written(groups=3)
    found: list[Any] = []
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        path = tmp_path / f"{method}.zip"
        with zipfile.ZipFile(path, "w", method) as archive:
            archive.writestr("before", b"x" * 99)
            archive.writestr("model.weights.h5", content)
        found.append(read_hdf5(path, "model.weights.h5"))

    assert found[0] == found[1]
    assert len(found[0].datasets) == 6


@pytest.mark.parametrize("length", [0, 7, 8, 20, 95, 96, 800, 5000])
def test_a_file_that_is_cut_off_is_damaged(length: int):
    with pytest.raises(DamagedHdf5):
        things(written(groups=3)[:length])


def test_random_damage_is_told_and_nothing_else_happens():
    whole = written(groups=12, text="short")
    rng = random.Random(1)  # noqa: S311 - no secret

    outcomes = set[str]()
    for _ in range(400):
        content = bytearray(whole)
        for _ in range(rng.choice((1, 4, 32))):
            content[rng.randrange(len(content))] = rng.choice((0, 255, rng.randrange(256)))
        try:
            things(bytes(content))
        except (DamagedHdf5, UnknownForm) as exc:
            outcomes.add(type(exc).__name__)
        else:
            outcomes.add("read")

    assert outcomes == {"read", "DamagedHdf5", "UnknownForm"}


def test_every_address_made_huge_or_its_own_takes_little_memory():
    whole = written(groups=3, text="short")
    tracemalloc.start()

    for value in (2**63, 2**40, len(whole) - 8, 96):
        for place in range(0, 2000, 8):
            content = whole[:place] + struct.pack("<Q", value) + whole[place + 8 :]
            with contextlib.suppress(DamagedHdf5, UnknownForm):
                things(content)

    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * MIB


def test_a_group_that_contains_itself_ends():
    file = io.BytesIO()
    with h5py.File(file, "w") as opened:
        group = opened.create_group("a")
        group["me"] = group
        group["root"] = opened["/"]

    assert [each.path for each in things(file.getvalue())] == ["", "a"]


def test_a_zip_member_elsewhere_than_told_is_damaged(tmp_path: Path):
    path = tmp_path / "model.keras"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("model.weights.h5", written(groups=1))
    content = bytearray(path.read_bytes())
    content[:4] = b"XXXX"
    path.write_bytes(content)

    with pytest.raises(UserError, match="damaged"):
        read_hdf5(path, "model.weights.h5")
