import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dg_sglang.pipelines.confidence import leaf_confidences

ANSWER = '{"a": "x", "b": {"c": null, "ü\\"": [1.5, true]}, "d": [], "e": {}}'


def by_bytes(text: str, confidences: list[float], prefix: bytes = b"") -> dict[tuple[str | int, ...], float]:
    data = prefix + text.encode()
    return leaf_confidences(text, list(data), [1.0] * len(prefix) + confidences, [bytes([i]) for i in range(256)])


def test_every_leaf_has_the_smallest_confidence_of_its_tokens() -> None:
    confidences = [0.5] * len(ANSWER.encode())
    confidences[ANSWER.index("x")] = 0.25
    found = by_bytes(ANSWER, confidences)
    assert found == {
        ("a",): 0.25,
        ("b", "c"): 0.5,
        ("b", 'ü"', 0): 0.5,
        ("b", 'ü"', 1): 0.5,
        ("d",): 0.5,
        ("e",): 0.5,
    }


def test_tokens_before_the_answer_and_special_tokens_dont_count() -> None:
    assert by_bytes('{"a":1}', [0.5] * 7, prefix=b"thinking") == {("a",): 0.5}
    vocabulary = [None, b'{"a"', b':"b', b'"}']
    found = leaf_confidences('{"a":"b"}', [0, 1, 2, 3, 0], [0.1, 0.2, 0.9, 0.8, 0.1], vocabulary)
    assert found == {("a",): 0.8}


def test_tokens_that_are_not_the_text_give_nothing() -> None:
    assert leaf_confidences('{"a":1}', [0], [0.5], [b"x"]) == {}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


def leaves(value: object, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    pairs = list(value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ())
    return [leaf for key, one in pairs for leaf in leaves(one, (*path, key))] or [path]


@given(JSON, st.sampled_from([None, 1]))
@pytest.mark.parametrize("ascii_only", [True, False])
def test_any_json_is_scanned(ascii_only: bool, value: object, indent: int | None) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    text = text.encode("utf-8", "replace").decode()
    assert sorted(map(repr, by_bytes(text, [0.5] * len(text.encode())))) == sorted(map(repr, leaves(json.loads(text))))
