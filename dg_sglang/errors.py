"""The one error tree. Every message says what is wrong, where, and what to do about it."""

from collections.abc import Sequence
from typing import ClassVar


class DgError(Exception):
    """Base of every error that this package raises on purpose. `category` names the kind in one word, for programs."""

    category: ClassVar[str] = "error"


class ConfigError(DgError, ValueError):
    """A setting is unknown or out of range."""

    category = "config"


class CheckpointError(DgError):
    """A checkpoint is missing, incomplete, or not a DiffusionGemma."""

    category = "checkpoint"


class InputError(DgError, ValueError):
    """The request's input can't be used."""

    category = "input"


class EmptyPromptError(InputError):
    """There is nothing to read."""


class PromptTooLongError(InputError):
    """Prompt and answer don't fit the model's context."""

    category = "too_long"


class ImageError(InputError):
    """An image can't be read, or the checkpoint can't see."""


class ChartError(InputError):
    """A picture is no chart that can be read, or lacks what its values could be read from."""


class TableError(InputError):
    """A picture shows no table that can be read."""


class DocumentError(InputError):
    """A document can't be opened or read."""

    category = "document"


class MissingDocumentError(DocumentError):
    """There is no such file, or it may not be read."""

    category = "missing"


class EmptyDocumentError(DocumentError):
    """The file is empty, or no text was found in it."""

    category = "empty"


class DamagedDocumentError(DocumentError):
    """The file is damaged or truncated."""

    category = "damaged"


class EncryptedDocumentError(DocumentError):
    """The document needs a password, or another one."""

    category = "encrypted"


class UnsupportedDocumentError(DocumentError):
    """The file is of a kind that can't be read, or that needs an extra which isn't installed."""

    category = "unsupported"


class DocumentLimitError(DocumentError):
    """The document is over one of its limits: pages, bytes, pixels, seconds."""

    category = "limit"


class GrammarError(DgError, ValueError):
    """A constraint can't be compiled or used."""

    category = "schema"


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

    category = "invalid"

    def __init__(self, message: str, *, failures: Sequence[object] = (), partial: object = None) -> None:
        super().__init__(message)
        self.failures = tuple(failures)
        self.partial = partial


class BatchError(DgError):
    """A batch can't start or go on: its files, its ledger, or its workers."""

    category = "batch"


class ServerError(DgError):
    """A server can't be started or reached, or fails at a request that may be all right."""

    category = "server"
