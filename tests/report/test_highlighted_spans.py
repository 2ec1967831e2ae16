"""Highlighting: findings may overlap, touch or lie inside each other; the text stays what it was."""

import html
import re

from hypothesis import given
from hypothesis import strategies as st

from synthesis.report.findings import is_unseen
from synthesis.report.html.case import Piece, Span, pieces
from synthesis.report.templates import shown


@st.composite
def marked_texts(draw: st.DrawFn) -> tuple[str, list[Span]]:
    text = draw(st.text(min_size=1, max_size=40))
    ends = st.integers(0, len(text))
    drawn = draw(st.lists(st.tuples(ends, ends, st.integers(1, 6)), max_size=8))
    return text, [Span(min(a, b), max(a, b), note) for a, b, note in drawn]


def test_an_overlap_is_cut_where_one_begins_and_where_one_ends() -> None:
    assert pieces("You should just try it", [Span(0, 15, 1), Span(11, 19, 2)]) == [
        Piece("You should ", (1,), (1,), ()),
        Piece("just", (1, 2), (2,), (1,)),
        Piece(" try", (2,), (), (2,)),
        Piece(" it", (), (), ()),
    ]


def test_one_inside_another() -> None:
    found = pieces("abcde", [Span(0, 5, 1), Span(1, 3, 2)])
    assert [(piece.text, piece.notes) for piece in found] == [("a", (1,)), ("bc", (1, 2)), ("de", (1,))]


def test_offsets_are_code_points() -> None:
    assert pieces("💔👩‍👧 no", [Span(0, 4, 1)])[0].text == "💔👩‍👧"


def test_spans_outside_the_text_are_left_out() -> None:
    assert pieces("abc", [Span(2, 9, 1), Span(1, 1, 2)]) == [Piece("abc", (), (), ())]


@given(marked_texts())
def test_the_pieces_put_together_are_the_text(drawn: tuple[str, list[Span]]) -> None:
    text, spans = drawn
    assert "".join(piece.text for piece in pieces(text, spans)) == text


@given(marked_texts())
def test_every_character_has_exactly_the_notes_that_cover_it(drawn: tuple[str, list[Span]]) -> None:
    text, spans = drawn
    position = 0
    for piece in pieces(text, spans):
        for _ in piece.text:
            covering = {span.note for span in spans if span.start <= position < span.end}
            assert set(piece.notes) == covering
            position += 1


@given(marked_texts())
def test_every_span_begins_and_ends_somewhere(drawn: tuple[str, list[Span]]) -> None:
    text, spans = drawn
    notes = {span.note for span in spans if span.start < span.end}
    found = pieces(text, spans)
    assert {note for piece in found for note in piece.begins} == notes
    assert {note for piece in found for note in piece.ends} == notes


@given(st.text())
def test_text_on_a_page_has_no_markup_of_its_own(text: str) -> None:
    bare = re.sub(r'<span class="unseen">\[U\+[0-9A-F]{4,6}\]</span>', "", shown(text))
    assert "<" not in bare
    assert '"' not in bare
    assert not any(is_unseen(char) for char in html.unescape(bare) if char not in "\n\t")
