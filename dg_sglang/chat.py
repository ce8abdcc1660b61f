"""From messages to prompt tokens, and from answer tokens to thinking and text."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

from dg_sglang.errors import CheckpointError, ImageError, InputError
from dg_sglang.request import GenerationRequest
from dg_sglang.thinking import Thinking
from dg_sglang.vision.images import load_image, load_images

CHANNEL_OPEN = "<|channel>"
CHANNEL_CLOSE = "<channel|>"
THOUGHT = "thought"
_OWN_ROLES = ("assistant", "model")


@dataclass(frozen=True)
class Prompt:
    """A prompt ready to be encoded: token ids, and what the encoder needs to see the images among them."""

    ids: list[int]
    images: Mapping[str, torch.Tensor] | None = None


class Chat:
    """The text side of a checkpoint: its tokenizer, chat template, image processor and thinking channel.

    Text that people pass is data. A control token spelled out in a prompt, or in a document inside it, reaches the
    model as its characters, so that no document can end its turn or open another one.
    """

    def __init__(self, tokenizer: Any, image_processor: Any | None, *, image_token_id: int | None, name: str) -> None:
        self.tokenizer = tokenizer
        self._image_processor: Any = image_processor
        self._image_token_id = image_token_id
        self._name = name
        added = tokenizer.added_tokens_decoder
        self._hidden = set(tokenizer.all_special_ids) | {
            index for index, token in added.items() if token.special or _is_marker(token.content)
        }
        ids = {token.content: index for index, token in added.items()}
        self._control_start = _first_characters(name for name, index in ids.items() if index in self._hidden)
        self._open, self._close = ids.get(CHANNEL_OPEN), ids.get(CHANNEL_CLOSE)

    def thinking(self, prompt: Sequence[int], *, marked: bool = False) -> Thinking:
        """What follows this prompt when the model is asked to think. `marked` is as for `Thinking`.

        Raises:
            CheckpointError: the checkpoint has no thinking channel.
        """
        if self._open is None or self._close is None:
            raise CheckpointError(f"{self._name} has no thinking channel ({CHANNEL_OPEN}): ask without thinking")
        return Thinking(self._open, self._close, begun=self._left_open(prompt), marked=marked)

    def encode(self, request: GenerationRequest, vocab_size: int) -> Prompt:
        """The prompt of a request.

        Raises:
            InputError: a bad prompt (EmptyPromptError, ImageError among them).
            CheckpointError: the checkpoint has no chat template.
        """
        if request.input_ids is not None:
            if request.images is not None:
                raise ImageError("images need a prompt or messages: input_ids has no place for them")
            return Prompt(request.checked_ids(vocab_size))
        text, pictures, cut = self._write(request)
        if pictures:
            return self._with_images(text, pictures, cut)
        return Prompt(self._tokenize(text, cut))

    def write(self, request: GenerationRequest) -> tuple[str, list[Any]]:
        """The prompt of a request as one text, with the image token in place of each picture, and the pictures.

        Raises:
            InputError: as `encode`; also where people's text spells a control token, which is one in such a text.
            CheckpointError: the checkpoint has no chat template.
        """
        text, pictures, cut = self._write(request)
        if cut in text:
            start = text.index(cut) - 1
            near = text[start : start + 20].replace(cut, "")
            raise InputError(
                f"the prompt's text spells a control token of the model ({near!r} …): "
                "beside images it can't be sent to a server, where it would act as one"
            )
        return text, pictures

    def _write(self, request: GenerationRequest) -> tuple[str, list[Any], str]:
        """The text of `encode`, its pictures, and the character that cuts its control tokens."""
        pictures = [] if request.images is None else load_images(request.images)
        if request.messages is not None:
            messages, pictures = _take_pictures(request.messages, pictures)
        elif pictures:
            parts = [*({"type": "image"} for _ in pictures), {"type": "text", "text": request.prompt}]
            messages = [{"role": "user", "content": parts}]
        else:
            messages = [{"role": "user", "content": request.prompt}]
        if pictures and self._image_processor is None:
            raise blind(self._name)
        cut = _unused_character(messages)
        text = self._render([self._as_data(message, cut) for message in messages], thinking=request.thinking)
        return text, pictures, cut

    def count(self, text: str) -> int:
        """How many tokens `text` takes in a prompt."""
        cut = _unused_character([{"content": text}])
        return len(self._tokenize(self._cut(text, cut), cut))

    def _as_data(self, message: Mapping[str, Any], cut: str) -> Mapping[str, Any]:
        """The message with its control tokens cut, unless they are the model's own (whose thoughts templates drop)."""
        content = message.get("content")
        if message.get("role") in _OWN_ROLES or content is None:
            return message
        if isinstance(content, str):
            return {**message, "content": self._cut(content, cut)}
        parts = [{**part, "text": self._cut(part["text"], cut)} if "text" in part else part for part in content]
        return {**message, "content": parts}

    def _cut(self, text: str, cut: str) -> str:
        """`text` with `cut` behind the first character of each control token."""
        return self._control_start.sub(lambda first: first[0] + cut, text)

    def _render(self, messages: Sequence[Mapping[str, Any]], *, thinking: bool) -> str:
        if not self.tokenizer.chat_template:
            raise CheckpointError(f"{self._name} has no chat template: pass input_ids instead of prompt or messages")
        try:
            text: str = self.tokenizer.apply_chat_template(
                list(messages), tokenize=False, add_generation_prompt=True, enable_thinking=thinking
            )
        except Exception as error:  # templates are programs: they raise TemplateError on purpose, the rest by accident
            raise InputError(f"the chat template refuses these messages: {error}") from error
        return text

    def _tokenize(self, text: str, cut: str) -> list[int]:
        """The tokens of the pieces between cuts; without cuts, of the whole text."""
        pieces = text.split(cut)
        encode = partial(self.tokenizer, add_special_tokens=False, verbose=False)
        return [token for piece in pieces for token in encode(piece)["input_ids"]]

    def _with_images(self, text: str, pictures: Sequence[Any], cut: str) -> Prompt:
        """Expand each image token to begin, soft tokens, end, as `Gemma4Processor.replace_image_token` does."""
        tokenizer = self.tokenizer
        marker = getattr(tokenizer, "image_token", None)
        if not marker or self._image_token_id is None:
            raise ImageError(f"{self._name} names no image token in its tokenizer: it can't read images")
        pieces = text.split(marker)
        if len(pieces) != len(pictures) + 1:
            raise ImageError(
                f"the prompt has {len(pieces) - 1} places for images ({marker}), but {len(pictures)} images were given"
            )
        try:
            processed = self._image_processor(images=list(pictures), return_tensors="pt")
        except Exception as error:
            raise ImageError(f"the image processor refuses an image: {error}") from error
        expanded = pieces[0]
        for piece, count in zip(pieces[1:], processed["num_soft_tokens_per_image"], strict=True):
            expanded += f"{tokenizer.boi_token}{marker * int(count)}{tokenizer.eoi_token}{piece}"
        ids = self._tokenize(expanded, cut)
        kinds = torch.tensor([[int(token == self._image_token_id) for token in ids]])
        names = ("pixel_values", "image_position_ids")
        return Prompt(ids, {name: processed[name] for name in names} | {"mm_token_type_ids": kinds})

    def read(self, answer: Sequence[int], prompt: Sequence[int]) -> tuple[str, str]:
        """The thinking and the text of an answer, without special tokens.

        Thinking is what stands inside channels. The prompt's end may have opened one; one that never closes takes all
        that follows.
        """
        thoughts: list[list[int]] = [[]]
        text: list[int] = []
        inside = self._left_open(prompt)
        for token in answer:
            if token in (self._open, self._close):
                inside = token == self._open
                thoughts.append([])
            else:
                (thoughts[-1] if inside else text).append(token)
        pieces = [self._decode(thought).removeprefix(THOUGHT).strip() for thought in thoughts]
        return "\n".join(filter(None, pieces)), self._decode(text)

    def _left_open(self, prompt: Sequence[int]) -> bool:
        """Whether a prompt ends inside a thinking channel."""
        last = next((token for token in reversed(prompt) if token in (self._open, self._close)), None)
        return last is not None and last == self._open

    def _decode(self, tokens: Sequence[int]) -> str:
        kept = [token for token in tokens if token not in self._hidden]
        decoded: str = self.tokenizer.decode(kept, clean_up_tokenization_spaces=False)
        return decoded


def blind(name: str) -> ImageError:
    """What asking a checkpoint about pictures that it can't read raises."""
    return ImageError(
        f"{name} was not trained to read pictures, or lacks processor_config.json: ask a checkpoint that reads them, "
        "or let text recognition and geometry do it (no engine; no --model and no --url on the command line)"
    )


def _is_marker(token: str) -> bool:
    """Gemma's control tokens: <|turn>, <turn|>, <|image|> …"""
    return token.startswith("<|") or token.endswith("|>")


def _first_characters(names: Iterable[str]) -> re.Pattern[str]:
    """Finds the first character of each of these names, overlapping ones too."""
    rests: dict[str, list[str]] = {}
    for name in names:
        rests.setdefault(name[:1], []).append(re.escape(name[1:]))
    return re.compile("|".join(f"{re.escape(first)}(?={'|'.join(rest)})" for first, rest in rests.items()) or "(?!)")


def _unused_character(messages: Sequence[Mapping[str, Any]]) -> str:
    """A character that no message holds: one that Unicode will never assign, if people keep to it."""
    used = {char for message in messages for text in _texts(message.get("content")) for char in text}
    return next(char for char in map(chr, range(0xFDD0, 0x10FFFF)) if char not in used)


def _texts(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    return [part["text"] for part in content or () if "text" in part]


def _take_pictures(
    messages: Sequence[Mapping[str, Any]], pictures: Sequence[Any]
) -> tuple[list[dict[str, Any]], list[Any]]:
    """Messages with bare image parts, and all pictures in reading order: a part's own, or the next of `pictures`."""
    waiting = list(pictures)
    taken: list[Any] = []
    bare: list[dict[str, Any]] = []
    for index, message in enumerate(messages):
        content = message.get("content")
        if isinstance(content, Sequence) and not isinstance(content, str):
            parts: list[Mapping[str, Any]] = []
            for part in content:
                if part["type"] == "image":
                    own = next((part[key] for key in ("image", "path", "url") if key in part), None)
                    if own is None and not waiting:
                        raise ImageError(f"messages[{index}] has an image part without a picture: pass it in images")
                    taken.append(waiting.pop(0) if own is None else load_image(own, f"the image in messages[{index}]"))
                parts.append({"type": "image"} if part["type"] == "image" else part)
            content = parts
        bare.append({**message, "content": content})
    if waiting:
        raise ImageError(f"{len(waiting)} more images were given than the messages have image parts")
    return bare, taken
