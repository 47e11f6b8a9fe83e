"""The hub that a script or the environment names, and the message on a senseless name."""

from pathlib import Path

import pytest

from kmonitor_agent.link.hub_choice import HubChoice, parse_hub
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.local.hub_address import DirectAddress, ingest_socket_path


def test_without_a_name_it_is_this_users_own_hub(folders: Folders):
    assert parse_hub(None, {}) == HubChoice()
    assert parse_hub("local", {}).socket(folders) == ingest_socket_path(folders)


def test_off_is_no_hub(folders: Folders):
    assert parse_hub("off", {}) == HubChoice(is_off=True)
    assert parse_hub("off", {}).socket(folders) is None


@pytest.mark.parametrize("named", ["/run/k/agents.sock", "ipc:///run/k/agents.sock"])
def test_a_path_is_that_hub(named: str, folders: Folders):
    assert parse_hub(named, {}).socket(folders) == Path("/run/k/agents.sock")


def test_the_environment_counts_only_when_the_script_is_silent():
    assert parse_hub(None, {"KMONITOR_HUB": "off"}).is_off
    assert not parse_hub("local", {"KMONITOR_HUB": "off"}).is_off


@pytest.mark.parametrize("named", ["http://x", "relative/agents.sock"])
def test_anything_else_is_refused_with_what_to_write(named: str):
    with pytest.raises(ValueError, match=r'hub=.*use "off"'):
        parse_hub(named, {})
    with pytest.raises(ValueError, match="KMONITOR_HUB="):
        parse_hub(None, {"KMONITOR_HUB": named})


def test_a_path_that_no_socket_can_have_is_refused():
    with pytest.raises(ValueError, match="107 bytes"):
        parse_hub("/" + "x" * 120, {})


def test_a_hub_on_the_network_is_named_with_its_key(folders: Folders):
    choice = parse_hub(f"tcp://gpu-01:5577?key={'AB' * 32}", {})

    assert choice.socket(folders) == DirectAddress("gpu-01", 5577, "ab" * 32)


@pytest.mark.parametrize(
    ("named", "why"),
    [
        ("tcp://gpu-01:5577", "has no key"),
        ("tcp://gpu-01:5577?key=abc", "has 3 hexadecimal digits but must have 64"),
        (f"tcp://gpu-01:0?key={'ab' * 32}", "0 is not a valid port"),
        (f"tcp://gpu-01?key={'ab' * 32}", "not a hub address"),
        (f"tcp://-gpu:5577?key={'ab' * 32}", "not a hub address"),
    ],
)
def test_an_address_without_all_that_it_needs_is_refused(named: str, why: str):
    with pytest.raises(ValueError, match=f"hub=.*{why}.*use tcp://HOST:PORT"):
        parse_hub(named, {})
