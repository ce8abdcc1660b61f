"""From examples to batches: token ids, canvases at block offsets, and their corruption."""

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from generator import Example, make_example
from pools import Pools
from tokenizer import BOS, PAD, TURN_END
from tokenizers import Tokenizer
from torch import Tensor

MAX_TOKENS = 1536  # prompt and answer together: inside the sliding window, so training needs no window mask

FRONTIER = ((4, 3.0), (12, 1.0), (4096, 0.1))  # weights of positions up to a distance behind a clean beginning
CLEAN_WEIGHT = 0.4  # of tokens that are not noise, where it is plain to see which are not
RUN_CHANCE, LONGEST_RUN = 0.08, 8  # how often a run of noise starts, and its tokens at most


@dataclass(frozen=True)
class Tokens:
    """An example in ids. `answer` ends with the end of the turn; `is_value` marks the answer's value tokens."""

    prompt: list[int]
    answer: list[int]
    is_value: list[bool]

    def __len__(self) -> int:
        return len(self.prompt) + len(self.answer)


@dataclass(frozen=True)
class Batch:
    """ids [B, T] (prompt + answer, padded); for each canvas its example's row of `ids`, context length [N], target
    tokens [N, C], value mask [N, C] and text mask [N, C] (everything up to the end of the turn); answer mask [B, T]
    marks the positions whose next token belongs to the answer."""

    ids: Tensor
    context: Tensor
    target: Tensor
    is_value: Tensor
    is_text: Tensor
    answer_next: Tensor

    @property
    def canvases_per_example(self) -> int:
        return self.target.shape[0] // self.ids.shape[0]


def prompt_ids(tokenizer: Tokenizer, user_message: str) -> list[int]:
    """The chat template's ids for one user turn, ready for the model's answer (chat_template.jinja gives the same)."""
    text = f"<|turn>user\n{user_message.strip()}<turn|>\n<|turn>model\n"
    return [BOS, *tokenizer.encode(text, add_special_tokens=False).ids]


def _pieces(value: Any) -> Iterator[tuple[str, bool]]:
    """Compact JSON in pieces, with a mark at leaf values."""
    if isinstance(value, dict):
        for i, (key, child) in enumerate(value.items()):
            yield (("," if i else "{") + json.dumps(key, ensure_ascii=False) + ":"), False
            yield from _pieces(child)
        yield ("}" if value else "{}"), False
    elif isinstance(value, list) and value:
        for i, child in enumerate(value):
            yield ("," if i else "["), False
            yield from _pieces(child)
        yield "]", False
    else:
        yield json.dumps(value, ensure_ascii=False), True


def tokenise(tokenizer: Tokenizer, example: Example) -> Tokens:
    """Ids of an example. A token belongs to a value if it touches one: structure tokens decide about null, too."""
    text, touched = "", []
    for piece, is_value in _pieces(example.value):
        text += piece
        touched += [is_value] * len(piece)
    encoding = tokenizer.encode(text, add_special_tokens=False)
    is_value = [any(touched[start:end]) for start, end in encoding.offsets]
    return Tokens(prompt_ids(tokenizer, example.prompt), [*encoding.ids, TURN_END], [*is_value, False])


def draw_tokens(
    rng: random.Random, tokenizer: Tokenizer, pools: Pools, level: int, max_tokens: int, held_out: bool = False
) -> Tokens:
    """A tokenised example of a level that is at most `max_tokens` long."""
    while True:
        tokens = tokenise(tokenizer, make_example(rng, pools, level, held_out))
        if len(tokens) <= max_tokens:
            return tokens


def collate(rng: random.Random, examples: Sequence[Tokens], canvases: int, canvas_length: int, shorten: bool) -> Batch:
    """A batch with `canvases` canvases an example, each at one of the example's blocks.

    `shorten` cuts the canvases behind the longest text in the batch (less padding to compute).
    """
    longest = max(len(tokens) for tokens in examples)
    rows = len(examples)
    ids = torch.full((rows, longest), PAD)
    answer_next = torch.zeros(rows, longest, dtype=torch.bool)
    context = torch.zeros(rows * canvases, dtype=torch.long)
    target = torch.full((rows * canvases, canvas_length), PAD)
    is_value = torch.zeros(rows * canvases, canvas_length, dtype=torch.bool)
    is_text = torch.zeros(rows * canvases, canvas_length, dtype=torch.bool)
    for row, tokens in enumerate(examples):
        ids[row, : len(tokens)] = torch.tensor(tokens.prompt + tokens.answer)
        answer_next[row, len(tokens.prompt) - 1 : len(tokens) - 1] = True
        blocks = -(-len(tokens.answer) // canvas_length)
        for i in range(canvases):
            start = canvas_length * rng.randrange(blocks)
            block = tokens.answer[start : start + canvas_length]
            n = row * canvases + i
            context[n] = len(tokens.prompt) + start
            target[n, : len(block)] = torch.tensor(block)
            is_value[n, : len(block)] = torch.tensor(tokens.is_value[start : start + canvas_length])
            is_text[n, : len(block)] = True
    if shorten:
        used = int(is_text.sum(1).max())
        kept = min(canvas_length, max(24, -(-(used + 3) // 8) * 8))
        target, is_value, is_text = target[:, :kept], is_value[:, :kept], is_text[:, :kept]
    return Batch(ids, context, target, is_value, is_text, answer_next)


@dataclass(frozen=True)
class Noisy:
    """Corrupted canvases [N, C], where they are noise [N, C], and each position's weight in the loss [N, C]."""

    canvas: Tensor
    noisy: Tensor
    weight: Tensor


def corrupt(batch: Batch, vocab_size: int, generator: torch.Generator) -> Noisy:
    """Uniform noise in one of four patterns.

    40 % of the canvases have a clean beginning and nothing but noise behind it (what a frontier window shows the
    model); 25 % have short runs of noise between clean ones, many such frontiers in one canvas; 25 % have a level from
    U[0, 1]; 10 % the same in values and padding only. Where little can be known, at high levels and far behind a clean
    beginning, the loss weighs less.
    """
    rows, length = batch.target.shape

    def uniform(columns: int) -> Tensor:
        return torch.rand(rows, columns, generator=generator)

    place = torch.arange(length)[None]
    kind, level = uniform(1), uniform(1)
    cut = (uniform(1) * batch.is_text.sum(1, keepdim=True)).long()
    behind = place >= cut
    starts = torch.where(uniform(length) < RUN_CHANCE, place, -length).cummax(1).values
    runs = place - starts < 1 + (uniform(1) * LONGEST_RUN).long()
    even = uniform(length) < level
    values = even & (batch.is_value | ~batch.is_text)
    noisy = torch.where(kind < 0.4, behind, torch.where(kind < 0.65, runs, torch.where(kind < 0.75, values, even)))
    weight = torch.where(noisy, 1.0, CLEAN_WEIGHT)
    for reach, value in reversed(FRONTIER):
        weight = torch.where((kind < 0.4) & behind & (place - cut < reach), value, weight)
    weight = torch.where(kind >= 0.65, 1.2 - level, weight)
    return Noisy(_replaced(batch, noisy, vocab_size, generator), noisy, weight)


def corrupt_evenly(batch: Batch, vocab_size: int, generator: torch.Generator, level: float) -> Noisy:
    """Each token is noise with chance `level`."""
    noisy = torch.rand(batch.target.shape, generator=generator) < level
    return Noisy(_replaced(batch, noisy, vocab_size, generator), noisy, torch.ones(batch.target.shape))


def corrupt_behind(batch: Batch, vocab_size: int, generator: torch.Generator) -> Noisy:
    """Nothing but noise behind a clean beginning; the weight marks the first four positions of it that are text."""
    cut = (torch.rand(len(batch.target), 1, generator=generator) * batch.is_text.sum(1, keepdim=True)).long()
    distance = torch.arange(batch.target.shape[1])[None] - cut
    near = (distance >= 0) & (distance < 4) & batch.is_text
    noisy = distance >= 0
    return Noisy(_replaced(batch, noisy, vocab_size, generator), noisy, near.float())


def _replaced(batch: Batch, noisy: Tensor, vocab_size: int, generator: torch.Generator) -> Tensor:
    noise = torch.randint(0, vocab_size, batch.target.shape, generator=generator)
    return torch.where(noisy, noise, batch.target)
