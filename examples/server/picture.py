"""An `sgl.function` program that reads a picture into a schema. (nano was not trained to see, and refuses.)

dg-sglang serve --model google/diffusiongemma-26B-A4B-it    # prints its URL
python examples/server/picture.py http://127.0.0.1:30000 examples/receipt.png
"""

import sys
from typing import Any, Literal

import sglang as sgl
from pydantic import BaseModel, Field

from dg_sglang.frontend import checked, endpoint
from dg_sglang.grammar import JsonSchema
from dg_sglang.wire import to_wire


class Picture(BaseModel):
    """What a picture shows."""

    kind: Literal["receipt", "letter", "photo"]
    title: str = Field(max_length=40)
    lines: int = Field(ge=0, le=200)


@sgl.function
def look(s: Any, path: str) -> None:
    """One picture, one object."""
    s += sgl.user(sgl.image(path) + "Describe the picture.")
    s += sgl.assistant(sgl.gen("picture", max_tokens=128, json_schema=to_wire(JsonSchema(Picture))["json_schema"]))


def main(url: str, path: str) -> Picture:
    """The picture as an object."""
    state = checked(look.run(path=path, backend=endpoint(url)))
    return Picture.model_validate_json(state["picture"])


if __name__ == "__main__":
    print(main(*sys.argv[1:]).model_dump_json(indent=2))
