"""Pictures through the server: as many soft tokens as in this process, and typed answers."""

from pathlib import Path
from typing import Any

import pytest
from odd_pictures import SIZES, noise

from dg_sglang import Engine
from dg_sglang.errors import ImageError
from dg_sglang.remote import SGLangEngine
from dg_sglang.request import GenerationRequest
from dg_sglang.vision.charts import analyze_chart
from dg_sglang.vision.forms import read_form
from dg_sglang.vision.screens import analyze_screenshot
from dg_sglang.vision.tables import read_table


def test_soft_tokens_are_as_many_as_in_this_process(tiny_engine: SGLangEngine, tiny_path: Path) -> None:
    local = Engine.load(tiny_path, device="cpu")
    pictures = [noise(*size) for size in SIZES]
    settings: dict[str, Any] = {"prompt": "what?", "max_new_tokens": 4, "max_denoising_steps": 1, "seed": 1}
    results = tiny_engine.generate_batch([settings | {"images": [one]} for one in pictures], batch_size=4)
    expected = [len(local._chat.encode(GenerationRequest(prompt="what?", images=[one]), 304).ids) for one in pictures]
    assert [result.usage.prompt_tokens for result in results] == expected
    assert len(set(expected)) > 5


@pytest.mark.parametrize("read", [analyze_chart, analyze_screenshot, read_table, read_form])
def test_typed_answers(tiny_engine: SGLangEngine, read: Any) -> None:
    assert tiny_engine.sees
    result = read(noise(200, 100), engine=tiny_engine, seed=0, max_new_tokens=200, max_denoising_steps=2)
    assert result.method == "model"


def test_nano_says_that_it_sees_nothing(nano_engine: SGLangEngine) -> None:
    with pytest.raises(ImageError, match="not trained to read pictures"):
        analyze_chart(noise(200, 100), engine=nano_engine)
