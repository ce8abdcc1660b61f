"""What people pass as a constraint."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from dg_sglang.errors import GrammarError
from dg_sglang.grammar.basic import Choice, JsonSchema, Regex
from dg_sglang.grammar.constraint import Constraint
from dg_sglang.grammar.outlines_types import constraint_of_term, is_outlines_term
from dg_sglang.grammar.python_types import enumerated_texts, is_python_type
from dg_sglang.grammar.regex_syntax import pattern_text


def as_constraint(value: Any) -> Constraint:
    """What people pass as a constraint, as one.

    - a Constraint: itself;
    - a Literal or an Enum class: Choice, one of its values;
    - a compiled `re.Pattern`: Regex;
    - a dict, or any other Python type that pydantic knows, or a function: JsonSchema;
    - a type of the outlines package: what stands for it here.

    Raises:
        GrammarError: it is none of these.
    """
    if isinstance(value, Constraint):
        return value
    if is_outlines_term(value):
        return constraint_of_term(value)
    if isinstance(value, re.Pattern):
        return Regex(pattern_text(value))
    if (texts := enumerated_texts(value)) is not None:
        return Choice(texts)
    is_own = isinstance(value, type) and issubclass(value, Constraint)
    if isinstance(value, Mapping) or (is_python_type(value) and not is_own):
        return JsonSchema(value)
    what = f"the class {value.__name__}; make one" if is_own else type(value).__name__
    raise GrammarError(
        "a constraint must be one of dg_sglang.grammar (JsonSchema, Regex, Choice, …), a JSON Schema as a dict, "
        f"or a Python type, not {what}"
    )
