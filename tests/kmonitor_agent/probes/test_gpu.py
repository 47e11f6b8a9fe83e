"""The device by the driver: real where there is one, and every absence with its reason."""

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from kmonitor_agent.probes.gpu import NO_DRIVER, Gpu
from kmonitor_agent.wire.messages.events import DeviceSample


class FakeNvml:
    """Looks like `pynvml` on a host with two devices."""

    class NVMLError(Exception):
        """As the real one."""

    def __init__(self, *, pid: int | None = None, lost: bool = False) -> None:
        self.opened: list[Any] = []
        self._pid = pid
        self._lost = lost

    def nvmlInit(self) -> None:  # noqa: N802
        pass

    def nvmlDeviceGetHandleByIndex(self, index: int) -> str:  # noqa: N802
        if index > 1:
            raise self.NVMLError("Invalid Argument")
        self.opened.append(index)
        return f"device {index}"

    def nvmlDeviceGetHandleByUUID(self, uuid: bytes) -> str:  # noqa: N802
        self.opened.append(uuid)
        return "device by uuid"

    def nvmlDeviceGetMemoryInfo(self, device: str) -> Any:  # noqa: N802
        if self._lost:
            raise self.NVMLError("GPU is lost")
        return SimpleNamespace(total=80e9, used=30e9)

    def nvmlDeviceGetComputeRunningProcesses(self, device: str) -> list[Any]:  # noqa: N802
        return [SimpleNamespace(pid=self._pid, usedGpuMemory=12e9)]

    def nvmlDeviceIsMigDeviceHandle(self, device: str) -> bool:  # noqa: N802
        return device == "device by uuid"

    def nvmlDeviceGetDeviceHandleFromMigDeviceHandle(self, device: str) -> str:  # noqa: N802
        return f"card of {device}"

    def nvmlDeviceGetUtilizationRates(self, device: str) -> Any:  # noqa: N802
        return SimpleNamespace(gpu=87, memory=40)

    def nvmlDeviceGetTemperature(self, device: str, sensor: int) -> int:  # noqa: N802
        assert sensor == 0
        return 71 if device.startswith("card") else 64

    def nvmlDeviceGetPowerUsage(self, device: str) -> int:  # noqa: N802
        raise self.NVMLError("Not Supported")


def with_nvml(monkeypatch: pytest.MonkeyPatch, nvml: FakeNvml) -> FakeNvml:
    monkeypatch.setitem(sys.modules, "pynvml", nvml)  # pyright: ignore[reportArgumentType]
    return nvml


def test_host_without_a_driver_says_so_in_every_field(monkeypatch: pytest.MonkeyPatch):
    class NoDriver(FakeNvml):
        def nvmlInit(self) -> None:  # noqa: N802  # pyright: ignore[reportImplicitOverride]
            raise self.NVMLError("NVML Shared Library Not Found")

    with_nvml(monkeypatch, NoDriver())

    found = Gpu({}).read()

    assert {found.total.absent, found.used.absent, found.process.absent} == {NO_DRIVER}


def test_device_of_this_process_is_read(monkeypatch: pytest.MonkeyPatch):
    import os  # noqa: PLC0415

    nvml = with_nvml(monkeypatch, FakeNvml(pid=os.getpid()))

    found = Gpu({}).read()

    assert (found.total.value, found.used.value, found.process.value) == (80e9, 30e9, 12e9)
    assert nvml.opened == [0]


def test_process_that_the_driver_does_not_list_has_the_reason(monkeypatch: pytest.MonkeyPatch):
    with_nvml(monkeypatch, FakeNvml(pid=1))

    found = Gpu({}).read()

    assert found.process.value is None
    assert "container" in found.process.absent


@pytest.mark.parametrize(
    ("visible", "opened"),
    [("1,0", [1]), ("GPU-12ab", [b"GPU-12ab"]), ("-1", []), ("", []), ("7", [])],
)
def test_first_visible_device_is_the_one(
    monkeypatch: pytest.MonkeyPatch, visible: str, opened: list[Any]
):
    nvml = with_nvml(monkeypatch, FakeNvml())

    found = Gpu({"CUDA_VISIBLE_DEVICES": visible}).read()

    assert nvml.opened == opened
    assert (found.total.value is None) == (not opened)
    assert opened or "this process" in found.total.absent


def test_lost_device_is_told(monkeypatch: pytest.MonkeyPatch):
    with_nvml(monkeypatch, FakeNvml(lost=True))

    assert "GPU is lost" in Gpu({}).read().used.absent


def test_load_is_read_in_its_units_and_what_the_driver_does_not_give_is_absent(
    monkeypatch: pytest.MonkeyPatch,
):
    with_nvml(monkeypatch, FakeNvml())

    load = Gpu({}).read().load

    assert (load.utilisation.value, load.utilisation.unit) == (0.87, "1")
    assert (load.temperature.value, load.temperature.unit) == (64.0, "degrees C")
    assert load.power.value is None
    assert "Not Supported" in load.power.absent
    assert load.temperature.source.startswith("driver")


def test_a_part_of_a_card_has_no_utilisation_and_its_cards_temperature(
    monkeypatch: pytest.MonkeyPatch,
):
    with_nvml(monkeypatch, FakeNvml())

    load = Gpu({"CUDA_VISIBLE_DEVICES": "MIG-12ab"}).read().load

    assert load.utilisation.value is None
    assert "MIG" in load.utilisation.absent
    assert load.temperature.value == 71.0
    assert "whole GPU" in load.temperature.source


def test_further_devices_are_those_that_the_driver_lists_this_process_on(
    monkeypatch: pytest.MonkeyPatch,
):
    import os  # noqa: PLC0415

    with_nvml(monkeypatch, FakeNvml(pid=os.getpid()))
    gpu = Gpu({})
    gpu.read()

    gpu.find_other_devices()
    [other] = gpu.read().others
    assert other.sample() == DeviceSample(1, 30e9, 0.87, 64.0, None)

    with_nvml(monkeypatch, FakeNvml(pid=1))
    stranger = Gpu({})
    stranger.read()
    stranger.find_other_devices()
    assert stranger.read().others == ()


def test_nothing_is_looked_for_where_there_is_no_device(monkeypatch: pytest.MonkeyPatch):
    with_nvml(monkeypatch, FakeNvml())
    gpu = Gpu({"CUDA_VISIBLE_DEVICES": "-1"})

    gpu.find_other_devices()
    found = gpu.read()

    assert found.others == ()
    assert "CUDA_VISIBLE_DEVICES" in found.load.utilisation.absent
