"""Pictures through a checkpoint that sees, if with random weights: whatever it answers is valid, and in the picture."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from pydantic import BaseModel
from tiny_checkpoint import make_tiny_checkpoint

from dg_sglang import Engine
from dg_sglang.errors import ExtractionError, ImageError
from dg_sglang.vision.asking import ask
from dg_sglang.vision.charts import analyze_chart
from dg_sglang.vision.forms import read_form
from dg_sglang.vision.grid import GridBox, to_pixels
from dg_sglang.vision.screens import analyze_screenshot
from dg_sglang.vision.tables import read_table

PICTURE = Image.fromarray(np.random.default_rng(0).integers(0, 255, (120, 260, 3), np.uint8))
SETTINGS: dict[str, Any] = {"max_new_tokens": 300, "max_denoising_steps": 2}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    folder = make_tiny_checkpoint(tmp_path_factory.mktemp("seeing") / "tiny", canvas_length=64)
    return Engine.load(folder, device="cpu")


def boxes_of(tree: Any) -> list[tuple[float, ...]]:
    if isinstance(tree, dict):
        own = [tuple(tree["box"])] if tree.get("box") else []
        return own + [box for branch in tree.values() for box in boxes_of(branch)]
    return [box for branch in tree for box in boxes_of(branch)] if isinstance(tree, list) else []


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("read", [analyze_chart, analyze_screenshot, read_table, read_form])
def test_whatever_the_model_answers_is_typed(engine: Engine, read: Any, seed: int) -> None:
    result = read(PICTURE, engine=engine, seed=seed, **SETTINGS)
    assert result.method == "model"
    for x0, y0, x1, y1 in boxes_of(result.model_dump(mode="json")):
        assert 0 <= x0 <= x1 <= 260
        assert 0 <= y0 <= y1 <= 120


def test_a_large_screen_is_shown_in_tiles(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[int, int]] = []
    generate = engine.generate

    def noted(prompt: str, **values: Any) -> Any:
        seen.append(values["images"][0].size)
        return generate(prompt, **values)

    monkeypatch.setattr(engine, "generate", noted)
    screen = analyze_screenshot(PICTURE, engine=engine, tile=150, seed=0, **SETTINGS)
    assert seen == [(150, 120)] * 2
    assert (screen.width, screen.height) == (260, 120)


def test_users_ask_in_the_same_way(engine: Engine) -> None:
    class Sign(BaseModel):
        words: str
        box: GridBox

    sign = ask(PICTURE, Sign, "What does the sign say?", engine=engine, seed=3, **SETTINGS)
    assert isinstance(sign, Sign)
    x0, _, x1, _ = to_pixels(sign.box, PICTURE.size)
    assert 0 <= x0 <= x1 <= 260


def test_a_validator_that_objects_is_an_error_of_ours(engine: Engine) -> None:
    from pydantic import field_validator

    class Never(BaseModel):
        word: str

        @field_validator("word")
        @classmethod
        def refuse(cls, word: str) -> str:
            raise ValueError("not this")

    with pytest.raises(ExtractionError, match="no valid Never"):
        ask(PICTURE, Never, "?", engine=engine, **SETTINGS)


def test_nano_says_that_it_sees_nothing_and_names_the_way_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from dg_sglang.cli import main

    nano = Engine.load("nano", device="cpu")
    assert not nano.sees
    with pytest.raises(ImageError, match=r"not trained to read pictures.*text recognition and geometry"):
        nano.generate("what?", images=[PICTURE])
    for read in (analyze_chart, analyze_screenshot, read_table, read_form):
        with pytest.raises(ImageError, match=r"not trained to read pictures.*no engine"):
            read(PICTURE, engine=nano)
    PICTURE.save(tmp_path / "chart.png")
    with pytest.raises(SystemExit) as ended:
        main(["chart", str(tmp_path / "chart.png"), "--model", "nano"])
    assert ended.value.code == 1
    assert "no --model" in capsys.readouterr().err


def test_from_the_command_line(engine: Engine, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import json

    from dg_sglang.cli import main

    PICTURE.save(tmp_path / "screen.png")
    with pytest.raises(SystemExit) as ended:
        main(["screenshot", str(tmp_path / "screen.png"), "--model", str(engine.path), "--json"])
    assert ended.value.code in (0, None)
    assert json.loads(capsys.readouterr().out)["method"] == "model"
