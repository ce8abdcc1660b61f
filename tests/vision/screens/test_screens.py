"""A page drawn by Chromium, read from its picture alone."""

from pathlib import Path

import pytest
from made_screens import browser, browser_program, make_screen

from dg_sglang.cli import main
from dg_sglang.vision.geometry.boxes import overlap
from dg_sglang.vision.screens import analyze_screenshot


@pytest.mark.slow
@pytest.mark.heavy
def test_a_page_in_a_browser(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("rapidocr", reason="reading text on pictures needs RapidOCR")
    pytest.importorskip("playwright.sync_api", reason="Playwright drives the browser that draws the page")
    if browser_program() is None:
        pytest.skip("Chromium isn't installed (Debian: apt-get install chromium)")
    with browser() as chromium:
        made = make_screen(chromium, tmp_path / "page.png", "checkout", "plain")
    screen = analyze_screenshot(made.path)
    for element in made.elements:
        best = max(screen.elements, key=lambda one: (overlap(element.box, one.box), one.role == element.role))
        assert overlap(element.box, best.box) >= 0.5, element
        assert (best.role, best.state, best.text) == (element.role, element.state, element.text)
    with pytest.raises(SystemExit) as stop:
        main(["screenshot", str(made.path), "--overlay", str(tmp_path / "read.png")])
    assert stop.value.code == 0
    out = capsys.readouterr().out
    assert 'textbox filled "4000 1234 5678 9010" [Card number]' in out
    assert "radio checked [Free delivery]" in out
    assert (tmp_path / "read.png").stat().st_size > 1000
