"""Pictures through the server: as many soft tokens as in this process, and typed answers."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from dg_sglang import Engine
from dg_sglang.errors import ImageError
from dg_sglang.remote import SGLangEngine
from dg_sglang.request import GenerationRequest
from dg_sglang.vision.charts import analyze_chart
from dg_sglang.vision.forms import read_form
from dg_sglang.vision.screens import analyze_screenshot
from dg_sglang.vision.tables import read_table

SIZES = [
    *((1, 1), (1, 2), (2, 1), (7, 5), (16, 16), (17, 16), (31, 33), (47, 49), (48, 48), (49, 48), (64, 200), (99, 101)),
    *((100, 3), (3, 100), (128, 96), (200, 50), (333, 111), (224, 224), (240, 320), (500, 20), (20, 500), (401, 399)),
    *((1, 5000), (5000, 1)),
    *((640, 480), (480, 640), (768, 90), (1000, 333), (1023, 1025), (5, 900), (900, 5), (1200, 800)),
]


def picture(width: int, height: int) -> Image.Image:
    values = np.random.default_rng((width, height)).integers(0, 255, (height, width, 3), np.uint8)
    return Image.fromarray(values)


def test_soft_tokens_are_as_many_as_in_this_process(tiny_engine: SGLangEngine, tiny_path: Path) -> None:
    local = Engine.load(tiny_path, device="cpu")
    pictures = [picture(*size) for size in SIZES]
    settings: dict[str, Any] = {"prompt": "what?", "max_new_tokens": 4, "max_denoising_steps": 1, "seed": 1}
    results = tiny_engine.generate_batch([settings | {"images": [one]} for one in pictures], batch_size=4)
    expected = [len(local._chat.encode(GenerationRequest(prompt="what?", images=[one]), 304).ids) for one in pictures]
    assert [result.usage.prompt_tokens for result in results] == expected
    assert len(set(expected)) > 5


@pytest.mark.parametrize("read", [analyze_chart, analyze_screenshot, read_table, read_form])
def test_typed_answers(tiny_engine: SGLangEngine, read: Any) -> None:
    assert tiny_engine.sees
    result = read(picture(200, 100), engine=tiny_engine, seed=0, max_new_tokens=200, max_denoising_steps=2)
    assert result.method == "model"


def test_nano_says_that_it_sees_nothing(nano_engine: SGLangEngine) -> None:
    with pytest.raises(ImageError, match="not trained to read pictures"):
        analyze_chart(picture(200, 100), engine=nano_engine)
