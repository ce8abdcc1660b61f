import numpy as np
import pytest
from drawn import Drawing
from PIL import Image

from dg_sglang.vision.level import level
from dg_sglang.vision.ocr import Text


def page() -> Drawing:
    drawing = Drawing(900, 500)
    for row in range(12):
        drawing.write(40, 30 + 36 * row, "The harbour opens early and boats leave at six, before the fog lifts.")
    return drawing


@pytest.mark.parametrize("degrees", [-3.0, -1.0, 1.0, 2.0])
def test_turned_pages_are_levelled_and_boxes_come_back(degrees: float) -> None:
    drawing = page()
    turned = drawing.image.rotate(degrees, expand=True, fillcolor="white", resample=Image.Resampling.BICUBIC)
    angle = np.radians(degrees)
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    middle, new_middle = np.array(drawing.image.size) / 2, np.array(turned.size) / 2
    texts = []
    for text in drawing.texts:
        x0, y0, x1, y1 = text.box
        corners = [
            tuple(turn @ (np.array(one) - middle) + new_middle) for one in ((x0, y0), (x1, y0), (x1, y1), (x0, y1))
        ]
        xs, ys = zip(*corners, strict=True)
        texts.append(Text(text.text, (min(xs), min(ys), max(xs), max(ys)), corners=tuple(corners)))
    found = level(np.asarray(turned), texts)
    assert found.given_size == turned.size
    assert found.back is not None
    heights = [text.y for text in found.texts]
    assert heights == sorted(heights)
    assert found.texts[0].height == pytest.approx(drawing.texts[0].height, abs=1)
    for text, given in zip(found.texts, texts, strict=True):
        assert found.given_box(text.box) == pytest.approx(given.box, abs=4)


def test_level_pages_stay_as_they_are() -> None:
    drawing = page()
    found = level(drawing.pixels, drawing.texts)
    assert found.back is None
    assert found.texts == tuple(drawing.texts)
    assert found.given_box((1, 2, 3, 4)) == (1, 2, 3, 4)
    assert level(Drawing().pixels, []).back is None
