"""Errors of Keras and of a user's code in a line that can be read."""

from kmonitor_agent.describing.child import user_code_error_text

DUMP = "{'module': 'keras', 'class_name': 'Functional', 'config': " + "x" * 5000 + "}"


def test_the_cause_is_told_without_the_configuration_around_it():
    text = (
        "<class 'Functional'> could not be deserialized properly. Please ensure that ...\n\n"
        f"config={DUMP}.\n\nException encountered: Layer 'a' expected 1 variables.\nReceived: 2"
    )

    told = user_code_error_text(ValueError(text))

    assert told == "ValueError: Layer 'a' expected 1 variables. Received: 2"


def test_what_was_looked_for_is_told_without_where_it_was_named():
    text = (
        f"Could not locate class 'Gated'. Make sure that it is there. Full object config: {DUMP}"
    )

    told = user_code_error_text(TypeError(text))

    assert told == "TypeError: Could not locate class 'Gated'. Make sure that it is there."


def test_no_error_is_longer_than_some_lines():
    assert len(user_code_error_text(ValueError("word " * 1000))) < 450
