"""Whatever `kmonitor doctor` says that is not well, the guide has an entry for it."""

import re

import pytest

from kmonitor.base.installation import resource_path
from tests.support.doctor_messages import DoctorMessage, doctor_messages

PASSED_ON = "(a specific message)"
"""Says what another part of kmonitor, or another program, said."""


def entries() -> list[tuple[str, str]]:
    """Subject and words of each row of the page's table."""
    page = resource_path("guide", "troubleshooting.md").read_text(encoding="utf-8")
    return re.findall(r"(?m)^\| `([^|]+)` \| `?([^|`]+)`? \|", page)


@pytest.mark.parametrize("message", sorted(doctor_messages(), key=str), ids=str)
def test_each_message_has_its_entry(message: DoctorMessage):
    of_subject = [words for subject, words in entries() if subject.startswith(message.subject)]

    assert any((message.words or PASSED_ON) in words for words in of_subject), of_subject


def test_no_entry_is_of_a_subject_that_doctor_does_not_know():
    subjects = {message.subject for message in doctor_messages()}

    assert len(subjects) > 20
    assert [one for one, _ in entries() if not one.startswith(tuple(subjects))] == []
