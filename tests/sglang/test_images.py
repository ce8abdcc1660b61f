"""Pictures through the server: transformers' soft tokens in number, place and value, limits, and typed answers."""

import base64
import io
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor

pytest.importorskip("sglang", reason="needs SGLang's own environment (`make test` makes it)")

from canvas_recorder import Look, installed, looks, recorded
from odd_pictures import SIZES, header_of_a_png, noise
from sglang_client import TIMEOUT, Client, chat_body, refused, serving
from tiny_checkpoint import SPECIAL_TOKENS
from transformers import AutoProcessor
from upstream_parity import upstream

from dg_sglang.errors import ImageError
from dg_sglang.remote import SGLangEngine
from dg_sglang.request import GenerationRequest
from dg_sglang.vision.charts import analyze_chart
from dg_sglang.vision.forms import read_form
from dg_sglang.vision.screens import analyze_screenshot
from dg_sglang.vision.tables import read_table

TOLERANCE = 1e-5
SOFT = SPECIAL_TOKENS.index("<|image|>")
SHORT: dict[str, Any] = {"max_new_tokens": 4, "max_denoising_steps": 1, "seed": 1}


@dataclass(frozen=True)
class Recording:
    """A server that writes down what it computes, and the checkpoint as transformers runs it."""

    client: Client
    engine: SGLangEngine
    folder: Path
    processor: Any
    encoder: Any

    def looks(self) -> list[Look]:
        return looks(self.folder)

    def last_prompt(self) -> list[int]:
        """The prompt of the last request; SGLang puts hashes beyond the vocabulary in place of image tokens."""
        return [token if 0 <= token < 304 else SOFT for token in recorded(self.folder)[-1].prompt]

    def upstream(self, picture: Image.Image, text: str = "what?") -> tuple[list[int], dict[str, Tensor], Tensor]:
        """transformers' prompt, the processor's pixels and positions, and the tower's soft tokens [count, hidden]."""
        written, _ = self.engine._chat.write(GenerationRequest(prompt=text, images=[picture]))
        made = self.processor(text=written, images=[picture], add_special_tokens=False, return_tensors="pt")
        with torch.inference_mode():
            tower = self.encoder.get_image_features(made["pixel_values"], made["image_position_ids"], return_dict=True)
        return made["input_ids"][0].tolist(), made, tower.pooler_output


@pytest.fixture(scope="module")
def server(tiny_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recording]:
    folder = tmp_path_factory.mktemp("looks")
    with (
        patch.dict(os.environ, installed(folder)),
        serving(tiny_path, tmp_path_factory.mktemp("image-server")) as client,
    ):
        engine = SGLangEngine(client.url, timeout=TIMEOUT)
        encoder = upstream(tiny_path).module.model.encoder
        yield Recording(client, engine, folder, AutoProcessor.from_pretrained(tiny_path), encoder)


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_soft_tokens_are_transformers_in_number_place_and_value(server: Recording, size: tuple[int, int]) -> None:
    picture, before = noise(*size), len(server.looks())
    result = server.engine.generate("what?", images=[picture], **SHORT)
    ids, made, tower = server.upstream(picture)
    assert server.last_prompt() == ids
    assert result.usage.prompt_tokens == len(ids)
    assert ids.count(SOFT) == len(tower)
    [look] = server.looks()[before:]
    assert torch.equal(look.pixels[0].reshape(made["pixel_values"].shape), made["pixel_values"])
    assert look.features.shape == tower.shape
    assert float((look.features - tower).abs().max()) <= TOLERANCE
    other = server.upstream(noise(*size, seed=1))[2]
    assert float((look.features - other).abs().max()) > 1e-3


def test_a_second_question_does_not_run_the_tower_again(server: Recording) -> None:
    one, other, third = (noise(90, 70, seed) for seed in (1, 2, 3))
    before = len(server.looks())
    first = server.engine.generate("what?", images=[one], **SHORT)
    assert len(server.looks()) == before + 1
    assert server.engine.generate("what?", images=[one.copy()], **SHORT).token_ids == first.token_ids
    server.engine.generate("where?", images=[one], **SHORT)
    assert len(server.looks()) == before + 1
    server.engine.generate("all?", images=[other, one, third, other], **SHORT)
    [look] = server.looks()[before + 1 :]
    assert len(look.pixels) == 2, "the new ones together, each once"


def data_url(picture: Image.Image, kind: str = "PNG", **options: Any) -> str:
    file = io.BytesIO()
    picture.save(file, kind, **options)
    return _url(file.getvalue())


def _url(data: bytes) -> str:
    return f"data:image/any;base64,{base64.b64encode(data).decode()}"


def image_part(url: str) -> list[dict[str, Any]]:
    return [{"type": "image_url", "image_url": {"url": url}}, {"type": "text", "text": "what?"}]


def test_raw_requests_are_read_as_the_engine_reads_them(server: Recording) -> None:
    """Through the OpenAI API too: turned upright, white behind transparency, 16 bits scaled."""
    upright = noise(60, 140)
    turned = upright.transpose(Image.Transpose.ROTATE_90)
    exif = Image.Exif()
    exif[0x0112] = 6
    clear = Image.new("RGBA", (96, 48), (0, 0, 0, 0))
    levels = np.tile(np.arange(0, 240, 5, dtype=np.uint8), (48, 1))
    for url, plain in (
        (data_url(turned, exif=exif), upright),
        (data_url(clear), Image.new("RGB", (96, 48), "white")),
        (data_url(Image.fromarray(levels.astype(np.uint16) * 257)), Image.fromarray(levels)),
    ):
        before = len(server.looks())
        server.client.chat(image_part(url), max_tokens=4)
        [look] = server.looks()[before:]
        made = server.upstream(plain.convert("RGB"))[1]
        assert torch.equal(look.pixels[0].reshape(made["pixel_values"].shape), made["pixel_values"])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (header_of_a_png(60_000, 60_000), "image 1 is too large to decode safely"),
        (header_of_a_png(9450, 9440), "image 1 has 9450 x 9440 pixels, more than"),
        (b"not a picture", "image 1 can't be read as an image"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\n", "image 1 can't be read as an image"),
    ],
    ids=["bomb", "large", "text", "eps"],
)
def test_bad_pictures_are_refused(server: Recording, data: bytes, message: str) -> None:
    body = chat_body(image_part(_url(data)), max_tokens=4)
    assert message in refused(server.client.post("/v1/chat/completions", body))
    with pytest.raises(ImageError, match=message):
        server.engine.generate("what?", images=[data], **SHORT)


@pytest.mark.parametrize("read", [analyze_chart, analyze_screenshot, read_table, read_form])
def test_typed_answers(server: Recording, read: Any) -> None:
    assert server.engine.sees
    assert server.engine.soft_tokens == 70
    result = read(noise(200, 100), engine=server.engine, seed=0, max_new_tokens=200, max_denoising_steps=2)
    assert result.method == "model"


def test_nano_says_that_it_sees_nothing(nano: Client, nano_engine: SGLangEngine) -> None:
    picture = noise(200, 100)
    with pytest.raises(ImageError, match="not trained to read pictures"):
        analyze_chart(picture, engine=nano_engine)
    assert "not trained to read pictures" in nano.chat_refusal(image_part(data_url(picture)))
