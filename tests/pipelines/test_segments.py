from hypothesis import given
from hypothesis import strategies as st
from made_documents import document_of

from dg_sglang.grammar import VerbatimSource
from dg_sglang.pipelines.segments import segments_of


def texts(*pages: list[str]) -> list[str]:
    return [segment.text for segment in segments_of(document_of(*pages))]


def test_columns_and_blank_lines_end_a_segment() -> None:
    assert texts(["Total      9,50", "", "Thank you"], ["Page 2"]) == ["Total", "9,50", "Thank you", "Page 2"]


def test_running_text_reads_on_over_lines() -> None:
    assert texts(["  We thank you", "for your order"]) == ["We thank you for your order"]


def test_columns_read_on_downwards() -> None:
    lines = ["Muster GmbH        No. 4711", "Weg 1              Page 1", "70563 Stuttgart"]
    assert "Muster GmbH Weg 1 70563 Stuttgart" in texts(lines)
    assert "No. 4711 Page 1" in texts(lines)
    assert not any("4711 Weg" in text for text in texts(lines))


def test_centred_lines_read_on_downwards() -> None:
    assert "GREENFIELD MARKET 14 Station Road" in texts(["  GREENFIELD MARKET", "   14 Station Road", "x            y"])


def test_occurrences_lead_to_words_at_word_boundaries_only() -> None:
    (segment,) = segments_of(document_of(["Total: 9,50 (net 9,50) 19,50"]))
    found = list(segment.find("9,50"))
    assert [[place.word.text for place in places] for places in found] == [["9,50"], ["9,50)"]]
    assert [[p.word.text for p in places] for places in segment.find("Total: 9,50")] == [["Total:", "9,50"]]
    assert list(segment.find("")) == []
    assert len(list(segment.find("9,50", inside_words=True))) == 3


def test_ideographs_are_words_of_their_own() -> None:
    (segment,) = segments_of(document_of(["株式会社東京"]))
    assert list(segment.find("東京"))


def test_loose_occurrences_ignore_case_and_punctuation() -> None:
    (segment,) = segments_of(document_of(["Muster Gmbh, Weg 1"]))
    assert [[p.word.text for p in places] for places in segment.find_loosely("MUSTER GMBH")] == [["Muster", "Gmbh,"]]
    assert list(segment.find_loosely("must")) == []
    assert list(segment.find_loosely("...")) == []


WORDS = st.text(st.sampled_from("ab1.,:(-/€ü"), min_size=1, max_size=4)
LINES = st.lists(st.lists(WORDS, min_size=1, max_size=4).map("   ".join), min_size=1, max_size=4)


@given(LINES)
def test_segments_are_what_the_grammar_takes_pieces_from(lines: list[str]) -> None:
    segments = [segment.text for segment in segments_of(document_of(lines))]
    assert VerbatimSource(segments).segments() == list(dict.fromkeys(segments))
