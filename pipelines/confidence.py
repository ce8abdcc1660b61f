"""From per-token confidence to confidence per leaf of a JSON answer."""

import re
from collections.abc import Sequence
from json.decoder import scanstring  # type: ignore[attr-defined]

from dg_sglang.pipelines.evidence import Path

_SPACE = re.compile(r"[ \t\n\r]*")
_SCALAR = re.compile(r"[^\s,\]}]+")


def leaf_confidences(
    text: str, token_ids: Sequence[int], confidences: Sequence[float], vocabulary: Sequence[bytes | None]
) -> dict[Path, float]:
    """The smallest probability among the tokens that write each leaf: a leaf is right only if all of them are.

    `text` is a JSON answer, `token_ids` what was committed for it, possibly after a thinking channel; `vocabulary`
    gives each token's bytes, None for special tokens.
    """
    pieces = [vocabulary[token] or b"" for token in token_ids]
    start = b"".join(pieces).rfind(text.encode())
    if start < 0:
        return {}
    owners: list[float] = []
    for piece, confidence in zip(pieces, confidences, strict=True):
        owners.extend([confidence] * len(piece))
    offsets = [start]
    for character in text:
        offsets.append(offsets[-1] + len(character.encode()))
    spans: dict[Path, tuple[int, int]] = {}
    _scan(text, 0, (), spans)
    # A marginal may exceed 1 by rounding.
    return {path: min(1.0, *owners[offsets[begin] : offsets[end]]) for path, (begin, end) in spans.items()}


def _scan(text: str, at: int, path: Path, spans: dict[Path, tuple[int, int]]) -> int:
    """Note [start, end) of each scalar and each empty container of the JSON value at `at`; return the value's end."""
    start = at = _skip(text, at)
    opening = text[at]
    end: int
    if opening == '"':
        _, end = scanstring(text, at + 1)
    elif opening in "{[":
        at = _skip(text, at + 1)
        index = 0
        while text[at] not in "}]":
            key: str | int = index
            if opening == "{":
                key, at = scanstring(text, at + 1)
                at = _skip(text, at) + 1  # the colon
            at = _skip(text, _scan(text, at, (*path, key), spans))
            at = _skip(text, at + (text[at] == ","))
            index += 1
        if index:
            return at + 1
        end = at + 1
    else:
        scalar = _SCALAR.match(text, at)
        end = scalar.end() if scalar else at
    spans[path] = (start, end)
    return end


def _skip(text: str, at: int) -> int:
    gap = _SPACE.match(text, at)
    return gap.end() if gap else at
