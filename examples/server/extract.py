"""An `sgl.function` program that extracts an invoice, its values word for word from the document.

dg-sglang serve                                             # prints its URL
python examples/server/extract.py http://127.0.0.1:30000 examples/invoice.pdf
"""

import json
import sys
from pathlib import Path
from typing import Any

import sglang as sgl

from dg_sglang.frontend import checked, endpoint
from dg_sglang.grammar import JsonSchema
from dg_sglang.pipelines import load_document
from dg_sglang.wire import to_wire

PIECE = {"anyOf": [{"type": "string", "x-verbatim": {"source": "document"}, "maxLength": 60}, {"type": "null"}]}


def record(*names: str) -> dict[str, Any]:
    """The schema of an object whose values are pieces of the document, or null."""
    return {"type": "object", "properties": dict.fromkeys(names, PIECE), "required": list(names)}


@sgl.function
def read_invoice(s: Any, text: str, parts: dict[str, str]) -> None:
    """Both parts at once, in forks that share the prompt."""
    s += sgl.user(f"Extract the fields from this document. Write null for what it does not state.\n\n{text}")
    forks = s.fork(len(parts))
    for fork, (name, schema) in zip(forks, parts.items(), strict=True):
        fork += sgl.assistant(sgl.gen(name, max_tokens=256, json_schema=schema))
    for fork, name in zip(forks, parts, strict=True):
        s.set_var(name, checked(fork)[name])


def main(url: str, path: str) -> dict[str, Any]:
    """The invoice as a dict."""
    text = load_document(Path(path)).text
    schemas = {
        "invoice": record("number", "date", "due_date"),
        "parties": record("seller", "buyer"),
    }
    parts = {
        name: to_wire(JsonSchema(schema, sources={"document": text}))["json_schema"] for name, schema in schemas.items()
    }
    state = checked(read_invoice.run(text=text, parts=parts, backend=endpoint(url)))
    return {name: json.loads(state[name]) for name in parts}


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:]), ensure_ascii=False, indent=2))
