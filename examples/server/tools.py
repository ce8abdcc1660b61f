"""An `sgl.function` program that calls a tool: the model chooses it and writes arguments that fit its schema.

dg-sglang serve                                             # prints its URL
python examples/server/tools.py http://127.0.0.1:30000 "What is 12 EUR in CHF?"
"""

import json
import sys
from typing import Any, Literal

import sglang as sgl
from pydantic import BaseModel, Field

from dg_sglang.frontend import checked, endpoint

RATES = {"EUR": 1.0, "CHF": 0.94, "USD": 1.08}


class Convert(BaseModel):
    """Convert an amount of money."""

    amount: float = Field(ge=0, le=1_000_000, multiple_of=0.01)
    source: Literal["EUR", "CHF", "USD"]
    target: Literal["EUR", "CHF", "USD"]

    def run(self) -> str:
        """The amount in the other currency."""
        return f"{self.amount / RATES[self.source] * RATES[self.target]:.2f} {self.target}"


class Weekday(BaseModel):
    """The weekday of a date in 2026."""

    month: int = Field(ge=1, le=12)
    day: int = Field(ge=1, le=28)

    def run(self) -> str:
        """Its English name."""
        import datetime as dt

        return f"{dt.date(2026, self.month, self.day):%A}"


TOOLS: dict[str, Any] = {"convert": Convert, "weekday": Weekday}


@sgl.function
def answer(s: Any, question: str) -> None:
    """Choose, write the arguments, run, and say what came out."""
    catalogue = {name: tool.model_json_schema() for name, tool in TOOLS.items()}
    s += sgl.system(f"Answer with the help of one of these tools: {json.dumps(catalogue)}")
    s += sgl.user(question)
    s += sgl.assistant_begin()
    s += sgl.select("tool", list(TOOLS)) + " "
    tool = TOOLS[s["tool"]]
    s += sgl.gen("arguments", max_tokens=128, json_schema=json.dumps(tool.model_json_schema()))
    s += sgl.assistant_end()
    s.set_var("result", tool.model_validate_json(s["arguments"]).run())
    s += sgl.user(f"The tool says: {s['result']}")
    s += sgl.assistant(sgl.gen("answer", max_tokens=64))


def main(url: str, question: str) -> dict[str, str]:
    """What was called, with what, what it returned, and the answer."""
    state = checked(answer.run(question=question, backend=endpoint(url)))
    return {name: state[name] for name in ("tool", "arguments", "result", "answer")}


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:]), ensure_ascii=False, indent=2))
