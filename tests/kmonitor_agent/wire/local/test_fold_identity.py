"""A fold's process knows its place in the study, and its run is named after it."""

import pytest

from kmonitor_agent.recording.process_facts import default_run_name, script_path
from kmonitor_agent.wire.local.fold_identity import FOLD_VARIABLE, FoldIdentity, fold_identity

PLACE = FoldIdentity(study="a1", fold=2, folds=5, attempt=2, script="/home/ada/train.py")


def test_a_place_goes_through_the_environment():
    assert fold_identity({FOLD_VARIABLE: PLACE.as_variable()}) == PLACE


@pytest.mark.parametrize("written", ["", "no json", '{"study": "?"}', "\udcff"])
def test_what_is_no_place_is_none(written: str):
    assert fold_identity({FOLD_VARIABLE: written}) is None


def test_a_run_is_named_after_script_and_fold_and_the_same_at_every_try():
    environ = {FOLD_VARIABLE: PLACE.as_variable()}

    assert script_path(environ) == "/home/ada/train.py"
    assert default_run_name(environ) == "train.py \N{MIDDLE DOT} fold 2"
