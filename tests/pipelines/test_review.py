import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dg_sglang.errors import DocumentError
from dg_sglang.pipelines import load_document
from dg_sglang.pipelines.review import review_html

pymupdf = pytest.importorskip("pymupdf", reason="review pages show pages with PyMuPDF")

WORDS = {"number": "RE-2025-17", "total": "1.234,50", "seller": "Möbel <b>& Söhne"}


def made_result(pdf: Path) -> dict[str, Any]:
    """What an extraction of WORDS says, with the boxes that the reader of documents gives."""
    document = load_document(pdf)
    evidence: dict[str, Any] = {}
    for name, words in WORDS.items():
        start = document.text.index(words)
        places = document.places_at(start, start + len(words))
        evidence[name] = leaf("exact", words, places[0].page, [place.word.box for place in places])
    evidence["note"] = leaf("none")
    evidence["rows"] = [{"a": leaf("none", "gone", confidence=0.2)}]
    pages = [{"number": p.number, "width": p.width, "height": p.height, "source": p.source} for p in document.pages]
    return {
        "document": {"name": pdf.name, "pages": pages},
        "value": {**WORDS, "note": None, "rows": [{"a": "gone"}]},
        "evidence": evidence,
        "warnings": ["</script><script>document.title = 'taken over'</script>"],
    }


def leaf(
    match: str, verbatim: str | None = None, page: int | None = None, boxes: Any = (), confidence: float | None = 0.9
) -> dict[str, Any]:
    return {
        "match": match, "verbatim": verbatim, "page": page, "boxes": boxes,
        "occurrences": 1 if page else 0, "confidence": confidence,
    }  # fmt: skip


@pytest.fixture
def pdf(tmp_path: Path) -> Path:
    """Two pages, the second turned by 90 degrees."""
    path = tmp_path / "bill <i>.pdf"
    with pymupdf.open() as document:
        page = document.new_page(width=400, height=600)
        page.insert_text((60, 80), f"Number {WORDS['number']}")
        page.insert_text((200, 300), f"Total {WORDS['total']} EUR")
        page = document.new_page(width=400, height=600)
        page.insert_text((50, 50), f"From {WORDS['seller']} in Ulm")
        page.set_rotation(90)
        document.save(path)
    return path


def test_page_is_self_contained_and_text_stays_text(pdf: Path) -> None:
    page = review_html(made_result(pdf), pdf)
    assert "http:" not in page
    assert "https:" not in page
    assert "Möbel <b>" not in page
    assert "</script><script>document.title" not in page
    assert page.count("data:image/jpeg;base64,") == 2
    data = json.loads(page.split('id="data">')[1].split("</script>")[0])
    assert [field["path"] for field in data["fields"]][-1] == ["rows", 0, "a"]


def test_only_pages_with_values_of_a_long_document(tmp_path: Path) -> None:
    path = tmp_path / "long.pdf"
    with pymupdf.open() as document:
        for number in range(1, 41):
            document.new_page(width=200, height=200).insert_text((20, 50), f"this is page {number} of the file")
        document.save(path)
    document = load_document(path)
    places = [place for place in document.places if place.word.text == "17"]
    result = {
        "document": {
            "name": "long.pdf",
            "pages": [{"number": p.number, "width": p.width, "height": p.height} for p in document.pages],
        },
        "value": {"page": 17},
        "evidence": {"page": leaf("exact", "17", places[0].page, [places[0].word.box])},
    }
    page = review_html(result, path)
    assert page.count("data:image/jpeg;base64,") == 1
    assert '"omitted": 39' in page


def test_picture_and_text_files(tmp_path: Path) -> None:
    from PIL import Image

    picture, text = tmp_path / "scan.png", tmp_path / "note.txt"
    Image.new("RGBA", (300, 200), (0, 0, 0, 0)).save(picture)
    text.write_text("Total 5")
    result = {
        "document": {"name": "x", "pages": [{"number": 1, "width": 300.0, "height": 200.0}]},
        "value": {"total": 5},
        "evidence": {"total": leaf("exact", "5", 1, [(10, 10, 20, 20)])},
    }
    assert "data:image/jpeg" in review_html(result, picture)
    assert "data:image/jpeg" not in review_html(result, text)
    with pytest.raises(DocumentError, match="No such file"):
        review_html(result, tmp_path / "missing.pdf")


@pytest.fixture
def browser() -> Iterator[Any]:
    api = pytest.importorskip("playwright.sync_api", reason="the browser test drives Chromium with Playwright")
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("Chromium isn't installed (Debian: apt-get install chromium)")
    with api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"], timeout=120_000)
        yield chromium
        chromium.close()


@pytest.mark.slow
@pytest.mark.heavy
def test_boxes_lie_on_their_words_and_join_with_the_fields(pdf: Path, tmp_path: Path, browser: Any) -> None:
    html = tmp_path / "review.html"
    html.write_text(review_html(made_result(pdf), pdf), "utf-8")
    page = browser.new_page(viewport={"width": 1300, "height": 900})
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on(
        "request", lambda request: problems.append(request.url) if not request.url.startswith(("file:", "data:")) else 0
    )
    page.goto(html.as_uri())
    assert page.title() == f"Review: {pdf.name}"

    with pymupdf.open(pdf) as document:
        for name, words in WORDS.items():
            found = []
            for box in page.locator(f".box[data-field={name}]").all():
                sheet = box.locator("xpath=..")
                number = int(sheet.get_attribute("data-page"))
                outer, inner, source = sheet.bounding_box(), box.bounding_box(), document[number - 1]
                scale = source.rect.width / outer["width"]
                x, y = (inner["x"] - outer["x"]) * scale, (inner["y"] - outer["y"]) * scale
                shown = pymupdf.Rect(x, y, x + inner["width"] * scale, y + inner["height"] * scale)
                inside = shown * source.derotation_matrix
                inside.normalize()
                found.append(
                    source.get_textbox(
                        pymupdf.Rect(inside.x0 - 0.5, inside.y0 - 0.5, inside.x1 + 0.5, inside.y1 + 0.5)
                    ).strip()
                )
            assert " ".join(found) == words

    page.locator(".field[data-field=total]").click()
    assert page.locator(".box.on").get_attribute("data-field") == "total"
    page.keyboard.press("ArrowDown")
    assert page.locator(".field.on").get_attribute("data-field") == "seller"
    assert page.locator(".box.on").count() == len(WORDS["seller"].split())
    page.locator(".box[data-field=number]").hover()
    assert page.locator(".field.on").get_attribute("data-field") == "number"
    assert page.locator(".field.weak").get_attribute("data-field") == "rows[1].a"
    assert "taken over" in page.locator("#warnings").inner_text()
    assert not problems
    kept = Path(os.environ.get("DG_SGLANG_ARTIFACTS", tmp_path)) / "review.png"
    page.screenshot(path=kept)
    assert kept.stat().st_size > 10_000
