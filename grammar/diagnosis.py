"""Where a text leaves a language, and what could have followed there: for people."""

from __future__ import annotations

from dataclasses import dataclass

from dg_sglang.grammar.constraint import Grammar
from dg_sglang.grammar.expression import Expression, Expressions

_LONGEST = 40  # of a text that is the only one to follow
_MANY = 40  # of the bytes that are listed one by one
_NAMES = {0x20: "a space", 0x0A: "a line break", 0x0D: "a carriage return", 0x09: "a tab"}


@dataclass(frozen=True)
class Rejection:
    """Why a text is no member.

    offset: bytes of it (UTF-8) that some member begins with. expected: what could follow them, each as a text in
    backquotes, a range or a few words. complete: whether the text could have ended there.
    """

    offset: int
    expected: tuple[str, ...]
    complete: bool


def rejection(grammar: Grammar, text: str) -> Rejection | None:
    """Where `text` stops being the beginning of a member; None if it is one."""
    data = text.encode("utf-8", "surrogatepass")
    with grammar.lock:
        table, node, offset = grammar.table, grammar.root, 0
        for byte in data:
            following = table.derivative(node, 1 << byte)
            if table.is_empty(following):
                break
            node, offset = following, offset + 1
        if offset == len(data) and node.nullable:
            return None
        return Rejection(offset, _expected(table, node), node.nullable)


def _expected(table: Expressions, node: Expression) -> tuple[str, ...]:
    masks = [mask for mask in table.classes(node) if not table.is_empty(table.derivative(node, mask))]
    longer, few, many = [], 0, False
    for mask in masks:
        text = _forced(table, node, mask.bit_length() - 1) if mask.bit_count() == 1 else ""
        if (len(text) > 1 and text.isprintable()) or text > "\x7f":
            longer.append(f"`{text}`")
        elif mask.bit_count() > _MANY or mask >> 0x80:
            many = True
        else:
            few |= mask
    return (*sorted(longer), *_described(few), *(["other characters"] if many else []))


def _forced(table: Expressions, node: Expression, byte: int) -> str:
    """`byte` and what must follow it; empty where that is no text yet."""
    data = bytes([byte])
    while len(data) < _LONGEST:
        node = table.derivative(node, 1 << data[-1])
        masks = [mask for mask in table.classes(node) if not table.is_empty(table.derivative(node, mask))]
        if node.nullable or len(masks) != 1 or masks[0].bit_count() != 1:
            break
        data += bytes([masks[0].bit_length() - 1])
    return data.decode("utf-8", "ignore")


def _described(mask: int) -> list[str]:
    """ASCII bytes of a mask in words, runs as ranges."""
    runs: list[list[int]] = []
    for byte in range(0x21, 0x7F):
        if mask >> byte & 1:
            if runs and byte == runs[-1][-1] + 1 and chr(byte).isalnum() == chr(runs[-1][-1]).isalnum():
                runs[-1].append(byte)
            else:
                runs.append([byte])
    found = [name for byte, name in _NAMES.items() if mask >> byte & 1]
    for run in runs:
        found += [f"`{chr(run[0])}`-`{chr(run[-1])}`"] if len(run) > 2 else [f"`{chr(byte)}`" for byte in run]
    return found
