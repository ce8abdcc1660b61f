"""Pages of PDFs as pictures: in the pixels that the model's soft tokens can use, with boxes that fit the page."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from pydantic import BaseModel
from tiny_checkpoint import make_tiny_checkpoint

from dg_sglang import Engine
from dg_sglang.errors import ImageError
from dg_sglang.vision.asking import ask
from dg_sglang.vision.grid import GridBox, to_grid
from dg_sglang.vision.pages import is_pdf, page_pixels, render_page

pymupdf = pytest.importorskip("pymupdf", reason="drawing pages needs PyMuPDF")

BUDGETS = (70, 140, 280, 560, 1120)
SIZES = ((595, 842), (842, 595), (612.5, 1008.25), (200, 200), (50, 900), (900, 50), (3370, 2384), (20, 30))


def pdf_of(*pages: tuple[float, float], rotation: int = 0, **saving: Any) -> bytes:
    """Pages of these sizes, each with a black square from (10, 20) to a tenth of the page further on."""
    with pymupdf.open() as pdf:
        for width, height in pages:
            page = pdf.new_page(width=width, height=height)
            page.draw_rect((10, 20, 10 + width / 10, 20 + height / 10), fill=(0, 0, 0))
            page.set_rotation(rotation)
        return pdf.tobytes(**saving)


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_a_page_has_just_the_pixels_that_the_processor_keeps(size: tuple[float, float], budget: int) -> None:
    from transformers.models.gemma4.image_processing_pil_gemma4 import Gemma4ImageProcessorPil

    page = render_page(pdf_of(size), soft_tokens=budget)
    assert page.picture.size == page_pixels(*size, budget)
    assert (page.width, page.height) == pytest.approx(size, abs=0.01)
    made = Gemma4ImageProcessorPil(max_soft_tokens=budget)(images=[page.picture])
    positions = np.asarray(made["image_position_ids"][0])
    kept = tuple((positions.max(0) + 1) * 16)
    assert all(side >= drawn for side, drawn in zip(kept, page.picture.size, strict=True)), "nothing is shrunk away"
    assert kept == page.picture.size or max(size) > 4 * min(size), "the processor resizes nothing"
    assert made["num_soft_tokens_per_image"][0] <= budget


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
def test_boxes_lead_back_to_the_page(rotation: int) -> None:
    """Where the square is on the picture, and where PyMuPDF says that it is on the page."""
    data = pdf_of((400, 600), rotation=rotation)
    page = render_page(data, soft_tokens=1120)
    rows, columns = np.nonzero(np.asarray(page.picture.convert("L")) < 128)
    seen = (columns.min(), rows.min(), columns.max() + 1, rows.max() + 1)
    with pymupdf.open(stream=data) as pdf:
        expected = pdf[0].cluster_drawings()[0] * pdf[0].rotation_matrix
        size = pdf[0].rect.width, pdf[0].rect.height
    assert (page.width, page.height) == size
    assert page.to_points(to_grid(seen, page.picture.size)) == pytest.approx(tuple(expected), abs=1.5)


def test_a_page_must_be_named_where_there_are_several(tmp_path: Path) -> None:
    path = tmp_path / "two.pdf"
    path.write_bytes(pdf_of((100, 100), (100, 200)))
    assert render_page(path, 2, soft_tokens=70).height == 200
    with pytest.raises(ImageError, match="has 2 pages: say which one"):
        render_page(path, soft_tokens=70)
    for number in (0, 3, -1, True, "1"):
        with pytest.raises(ImageError, match="has pages 1 to 2"):
            render_page(path, number, soft_tokens=70)  # type: ignore[arg-type]


def test_pdfs_that_cannot_be_drawn(tmp_path: Path) -> None:
    whole = pdf_of((100, 100))
    locked = pdf_of((100, 100), encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw="open", owner_pw="own")
    with pytest.raises(ImageError, match="password"):
        render_page(locked, soft_tokens=70)
    assert render_page(locked, soft_tokens=70, password="open").number == 1
    for source in (b"%PDF-1.7\n", b"", whole[:40], tmp_path / "missing.pdf"):
        with pytest.raises(ImageError):
            render_page(source, soft_tokens=70)
    with pytest.raises(ImageError, match="can't be shown in 0 soft tokens"):
        render_page(whole, soft_tokens=0)


def test_what_a_pdf_is(tmp_path: Path) -> None:
    path = tmp_path / "odd.name"
    path.write_bytes(pdf_of((100, 100)))
    assert is_pdf(path) and is_pdf(str(path)) and is_pdf(path.read_bytes())
    assert not any(map(is_pdf, (tmp_path, tmp_path / "missing", b"\x89PNG", None, "a\0b", Image.new("L", (1, 1)))))


def test_questions_about_a_page(tmp_path: Path) -> None:
    class Total(BaseModel):
        amount: str
        box: GridBox

    engine = Engine.load(make_tiny_checkpoint(tmp_path / "tiny", canvas_length=64), device="cpu")
    settings: dict[str, Any] = {"engine": engine, "seed": 0, "max_new_tokens": 200, "max_denoising_steps": 2}
    data = pdf_of((595, 842), (595, 842))
    assert isinstance(ask(data, Total, "What is the total?", page=2, **settings), Total)
    with pytest.raises(ImageError, match="say which one"):
        ask(data, Total, "What is the total?", **settings)
    with pytest.raises(ImageError, match="only a PDF has pages"):
        ask(Image.new("RGB", (90, 90)), Total, "What is the total?", page=1, **settings)
