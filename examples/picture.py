"""A question of your own about a picture, or a PDF's page, answered in a type of your own by a checkpoint that sees.

python examples/picture.py google/diffusiongemma-26B-A4B-it examples/receipt.png
python examples/picture.py google/diffusiongemma-26B-A4B-it examples/invoice.pdf 1
"""

import sys
from typing import Literal

from pydantic import BaseModel, Field

from dg_sglang import Engine
from dg_sglang.vision.asking import ask
from dg_sglang.vision.grid import GridBox

PROMPT = "What kind of paper is this, what is its date (YYYY-MM-DD), and where is the total? Boxes go from 0 to 1000."


class Paper(BaseModel):
    """What we want to know. The grammar made of it holds every answer to it: types, lengths, the pattern."""

    kind: Literal["receipt", "invoice", "letter", "other"]
    date: str | None = Field(pattern=r"^20[0-9]{2}-(0[1-9]|1[0-2])-[0-3][0-9]$")
    total: str | None = Field(max_length=16)
    total_box: GridBox | None


def main(checkpoint: str, path: str, page: str | None = None) -> Paper:
    """The answer; `page` counts from 1, for PDFs."""
    engine = Engine.load(checkpoint)
    return ask(path, Paper, PROMPT, engine=engine, page=int(page) if page else None, seed=0, max_new_tokens=256)


if __name__ == "__main__":
    print(main(*sys.argv[1:]).model_dump_json(indent=2))
