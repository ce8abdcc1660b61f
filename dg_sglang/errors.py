"""The one error tree. Every message says what is wrong, where, and what to do about it."""

from collections.abc import Sequence


class DgError(Exception):
    """Base of every error that this package raises on purpose."""


class ConfigError(DgError, ValueError):
    """A setting is unknown or out of range."""


class CheckpointError(DgError):
    """A checkpoint is missing, incomplete, or not a DiffusionGemma."""


class InputError(DgError, ValueError):
    """The request's input can't be used."""


class EmptyPromptError(InputError):
    """There is nothing to read."""


class PromptTooLongError(InputError):
    """Prompt and answer don't fit the model's context."""


class ImageError(InputError):
    """An image can't be read, or the checkpoint can't see."""


class DocumentError(InputError):
    """A document can't be opened or read."""


class GrammarError(DgError, ValueError):
    """A constraint can't be compiled or used."""


class InvalidSchemaError(GrammarError):
    """The schema (or pattern) itself is malformed. `pointer` is the JSON pointer of the place."""

    def __init__(self, message: str, *, pointer: str = "") -> None:
        super().__init__(f"{message} (at {pointer})" if pointer else message)
        self.pointer = pointer


class UnsupportedSchemaError(GrammarError):
    """The schema asks for something that can't be enforced on the canvas, so it is refused rather than ignored.

    `keyword` is the JSON Schema keyword, `pointer` the JSON pointer of the subschema that holds it.
    """

    def __init__(self, message: str, *, pointer: str, keyword: str) -> None:
        super().__init__(f"{message} (keyword {keyword!r}{f' at {pointer}' if pointer else ''})")
        self.pointer = pointer
        self.keyword = keyword


class EmptyLanguageError(GrammarError):
    """No text at all satisfies the constraint, or the vocabulary can't spell any that does."""


class BudgetError(GrammarError):
    """Even the shortest valid answer is longer than max_new_tokens."""


class GrammarTooLargeError(GrammarError):
    """The constraint needs more states than the limit allows."""


class ExtractionError(DgError):
    """A document was read, but no valid value came out of it.

    `failures` name each field at fault, what the document says and why it won't do; `partial` is the result without
    its value.
    """

    def __init__(self, message: str, *, failures: Sequence[object] = (), partial: object = None) -> None:
        super().__init__(message)
        self.failures = tuple(failures)
        self.partial = partial
