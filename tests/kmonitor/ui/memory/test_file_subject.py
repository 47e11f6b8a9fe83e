"""A model file as a memory map's subject."""

from pathlib import Path

from kmonitor.ui.memory.subjects import file_described, file_loading, file_refused
from kmonitor_agent.wire.messages.model_layout import ModelLayout
from tests.support.made_up_layouts import chain, layer, tensor
from tests.support.made_up_maps import convolutions

FILE = Path("/models/small.keras")


def tokens(length: int | None) -> ModelLayout:
    ends = [tensor(length, dtype="int32"), tensor(length, 8)]
    return chain([layer("embed", "Embedding")], ends, [])


def test_sizes_are_in_order_and_its_own_is_marked():
    told = [(1.0, convolutions(128)), (2.0, convolutions(256)), (0.5, convolutions(64))]

    subject = file_described(FILE, told)

    assert [each.label for each in subject.sizes] == [
        f"{side} \u00d7 {side} \u00d7 3" for side in (64, 128, 256)
    ]
    assert subject.sizes[subject.own].label.startswith("128")
    assert not subject.is_sequence


def test_open_lengths_give_way_to_usual_ones():
    told = [(1.0, tokens(None)), (0.5, tokens(64)), (1.0, tokens(128)), (2.0, tokens(256))]

    subject = file_described(FILE, told)

    assert [each.label for each in subject.sizes] == ["64", "128", "256"]
    assert subject.own == 1
    assert not subject.is_own_size_known
    assert subject.is_sequence


def test_where_every_length_is_open_the_model_is_shown_as_it_is():
    subject = file_described(FILE, [(1.0, tokens(None))])

    assert len(subject.sizes) == 1
    assert "no other" in subject.why_one_size
    begun = file_described(FILE, [(1.0, tokens(8))], is_whole=False)
    assert "trying others" in begun.why_one_size


def test_a_file_that_is_refused_says_why():
    assert "separate process" in file_loading(FILE).why_none
    refused = file_refused(FILE, "it is damaged", "take another")
    assert (refused.title, refused.why_none, refused.remedy) == (
        "small.keras", "it is damaged", "take another",
    )  # fmt: skip
