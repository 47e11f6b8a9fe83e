import html

from hypothesis import given, settings
from hypothesis import strategies as st

from kmonitor.ui.report.markup import Markup, joined, lines, tag
from tests.support.drawings import Page


@settings(max_examples=40)
@given(st.text(max_size=60))
def test_no_text_is_ever_taken_for_markup(text: str):
    page = Page.of(tag("p", text, title=text))

    assert page.elements[0][0] == "p"
    assert len(page.elements) == 1
    assert set(page.elements[0][1]) <= {"title"}


def test_markup_is_put_in_as_it_is_and_text_is_not():
    assert tag("p", tag("b", "a<b"), "&") == "<p><b>a&lt;b</b>&amp;</p>"
    assert isinstance(joined(["a", Markup("<br>")]), Markup)


def test_letters_that_turn_a_line_around_or_control_a_terminal_are_marks():
    told = html.unescape(tag("p", "a\u202eb\x1b\x00c"))

    assert told == "<p>a\ufffdb\ufffd\ufffdc</p>"


def test_lines_stand_one_below_the_other():
    assert lines("a\n<b>") == "a<br>&lt;b&gt;"


def test_attributes_are_named_as_in_html_and_left_out_when_empty():
    assert tag("i", class_="x", aria_label="y", id="") == '<i class="x" aria-label="y"></i>'
