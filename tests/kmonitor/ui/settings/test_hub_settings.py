"""Text of the settings on this machine's hub and on hosts."""

import msgspec
import pytest

from kmonitor.ui.hosts.hosts import HostList, host_lines
from kmonitor.ui.settings.hub_settings import HubSettingsStore, confirm_keep, confirm_revoke
from kmonitor_agent.wire.messages.access_messages import KeyGrant
from kmonitor_agent.wire.messages.unions import ErrorMessage, HubRequest, KeysReply, KeysRequest
from tests.support.made_up_runs import told_hub

NOW_S = 1_000_000.0
ANNA = KeyGrant(key="ab" * 32, name="anna", role="viewer", since_wall_s=NOW_S - 60)


class Asked:
    """Takes questions and numbers them."""

    def __init__(self) -> None:
        self.messages: list[msgspec.Struct] = []
        self.desk = HubSettingsStore(self.ask)

    def ask(self, message: msgspec.Struct) -> int:
        self.messages.append(message)
        return len(self.messages)


@pytest.fixture
def asked() -> Asked:
    return Asked()


def test_it_asks_again_only_when_both_answers_came(asked: Asked):
    asked.desk.refresh()
    asked.desk.refresh()
    assert [type(each) for each in asked.messages] == [HubRequest, KeysRequest]
    assert asked.desk.apply_reply(msgspec.structs.replace(told_hub(), request_id=1))
    assert asked.desk.apply_reply(KeysReply(request_id=2, keys=[ANNA]))
    assert not asked.desk.apply_reply(KeysReply(request_id=99, keys=[]))
    asked.desk.refresh()

    assert len(asked.messages) == 4


def test_it_says_what_is_stored_and_what_was_removed(asked: Asked):
    assert "not running" in asked.desk.stored().text
    asked.desk.refresh()
    hub = msgspec.structs.replace(
        told_hub(), request_id=1, rows=1234, database_bytes=2**30, runs_removed=3
    )
    asked.desk.apply_reply(hub)
    stored = asked.desk.stored()

    assert "1\u202f234 events" in stored.text
    assert "1.0\u202fGiB" in stored.text
    assert "3 runs have been removed" in stored.text
    assert stored.fixed == ""


def test_a_command_line_that_overrides_is_told(asked: Asked):
    asked.desk.refresh()
    asked.desk.apply_reply(
        msgspec.structs.replace(
            told_hub(), request_id=1, retention_days=7.0, retention_is_fixed=True
        )
    )

    assert "--keep-days" in asked.desk.stored().fixed


def test_keys_are_listed_with_role_and_where_the_hub_listens(asked: Asked):
    assert "Loading" in asked.desk.keys(NOW_S).text
    asked.desk.refresh()
    asked.desk.apply_reply(KeysReply(request_id=2, keys=[ANNA], address="tcp://a:1?key=ff"))
    (row,) = asked.desk.keys(NOW_S).rows

    assert (row.name, row.role) == ("anna", "viewer")
    assert row.since.endswith("key abababababab\u2026")
    assert asked.desk.keys(NOW_S).text.endswith("tcp://a:1?key=ff")


def test_a_hub_that_lets_nobody_in_says_so_and_a_fault_is_told(asked: Asked):
    asked.desk.refresh()
    asked.desk.apply_reply(KeysReply(request_id=2, keys=[], fault="the list is open to others"))
    picture = asked.desk.keys(NOW_S)

    assert picture.text.endswith("No keys are authorized.")
    assert picture.trouble == "the list is open to others"


def test_a_revocation_that_is_refused_says_why(asked: Asked):
    asked.desk.revoke(ANNA.key)
    (message,) = asked.messages
    asked.desk.apply_reply(ErrorMessage(code="not_found", text="no such key", request_id=1))

    assert isinstance(message, KeysRequest)
    assert message.revoke == ANNA.key
    assert asked.desk.keys(NOW_S).trouble == "no such key"


def test_a_lost_hub_is_asked_anew_when_it_is_back(asked: Asked):
    asked.desk.refresh()
    asked.desk.lost()
    asked.desk.refresh()

    assert len(asked.messages) == 4


def test_questions_say_what_goes_and_what_stays():
    both = confirm_keep(90, 2**30).text

    assert "90 days" in both
    assert "1.0\u202fGiB" in both
    assert "Pinned" in both
    assert "anna" in confirm_revoke("anna").title


def test_hosts_say_how_they_stand_and_when_they_were_seen():
    hosts = HostList()
    live = hosts.add("anna@gpu-01", "big")
    lost = hosts.add("tcp://h:1?key=ff", "far")
    hosts.add("gpu-03")
    live.connected(told_hub(), NOW_S)
    lost.set_route("closed", "It is off.", "", None)

    first, second, third = host_lines(
        hosts, {"tcp://h:1?key=ff": NOW_S - 60}, now_wall_s=NOW_S, version="1"
    )

    assert (first.state, first.can_retry) == ("connected", False)
    assert second.address == "tcp://h:1"
    assert second.key == "tcp://h:1?key=ff"
    assert "last seen" in second.state
    assert "It is off." in second.state
    assert "never connected" in third.state
