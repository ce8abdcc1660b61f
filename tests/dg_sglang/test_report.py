from dg_sglang.report import printable


def test_a_terminal_obeys_nothing_in_a_document() -> None:
    assert printable("a \x1b]0;title\x07 b\x9b31m\x7f") == r"a \x1b]0;title\x07 b\x9b31m\x7f"
    assert printable("safe\u202egnp.exe") == r"safe\u202egnp.exe"
    assert printable("\ud800") == r"\ud800"
    assert printable("  one\nline\u00a0only ") == "one line only"
    assert printable("Größe 10 € 語 👨‍👩‍👧") == "Größe 10 € 語 👨‍👩‍👧"
