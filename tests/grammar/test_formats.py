import pytest

from dg_sglang.errors import UnsupportedSchemaError
from dg_sglang.grammar import JsonSchema, compile_constraint
from dg_sglang.grammar.expression import Expressions
from dg_sglang.grammar.formats import INTEGERS, NOT_REGULAR, OTHERS, STANDARD, compile_format
from dg_sglang.grammar.text import json_body

EXAMPLES = {
    "date": (["2024-02-29", "2000-02-29", "1999-12-31"], ["2023-02-29", "1900-02-29", "2024-04-31", "2024-1-01"]),
    "time": (
        ["23:59:60Z", "23:59:60.5-00:00", "08:30:06.28+01:00", "00:00:00z"],
        ["24:00:00Z", "12:00:00", "08:30Z", "12:00:00+24:00", "22:59:60Z", "23:59:60+01:00", "23:59:61Z"],
    ),
    "date-time": (
        ["2024-02-29T12:00:00Z", "1990-12-31t23:59:60.5z"],
        ["2023-02-29T12:00:00Z", "2024-01-01", "1990-12-31T23:58:60Z"],
    ),
    "duration": (["P4DT12H30M5S", "PT36H", "P1W", "P1Y2M"], ["P", "PT", "P1DT", "P1W2D", "4DT", "P1Y2D"]),
    "email": (
        ["joe@example.com", "te~st.x@a-b.org", '"joe bloggs"@x.org', "a@[127.0.0.1]", "a" * 64 + "@b", '"a@b"@c'],
        ["@x", "a@", "a..b@c", "a b@c", "a" * 65 + "@b"],
    ),
    "idn-email": (["실례@실례.테스트", "a@b.c"], ["@b", "2962"]),
    "hostname": (["www.example.com", "a", "xn--4gbwdl.xn--wgbh1c"], ["-a.com", "a_b", "a..b", "a" * 64, "a.-b"]),
    "ipv4": (["127.0.0.1", "255.0.9.10"], ["256.0.0.1", "1.2.3", "01.2.3.4", "1.2.3.4.5"]),
    "ipv6": (
        ["::1", "::", "1:2:3:4:5:6:7:8", "::ffff:1.2.3.4", "1::8"],
        ["1:2", "12345::", ":::", "1:2:3:4:5:6:7:8:9"],
    ),
    "uri": (["http://a.b/c?d#e", "urn:isbn:1", "mailto:a@b.c"], ["//a/b", "/a", "a b", "http:// x", ":a"]),
    "uri-reference": (["//a/b", "/a?b", "#x", "", "a/b:c"], ["\\\\a", "a b", "#a\\b"]),
    "iri": (["http://ƒøø.ßår/?∂éœ=πîx#x"], ["/a", "http://a b"]),
    "iri-reference": (["/π", "#ƒ"], ["\\\\é", "a b"]),
    "uuid": (["2eb8aa08-AA98-11ea-b4aa-73b441d16380"], ["2eb8aa08", "2eb8aa08aa9811eab4aa73b441d16380"]),
    "uri-template": (["http://x/{a}/{b:3}{?c*,d}", "x"], ["{a", "a}", "{}"]),
    "json-pointer": (["", "/a~1b/~0", "/0/"], ["a", "/~2", "/a~"]),
    "relative-json-pointer": (["1/a", "0#", "12"], ["/a", "-1/a", "01"]),
    "byte": (["", "TWE=", "TW+/", "TQ=="], ["TWE", "T===", "TW-_", "TW E"]),
    "base64": (["TWE="], ["TWE"]),
    "base64url": (["TW-_", "TQ=="], ["TW+/", "TQ="]),
    "host-name": (["www.example.com"], ["a_b"]),
    "ip-address": (["127.0.0.1"], ["::1"]),
    "ipvanyaddress": (["127.0.0.1", "::1"], ["1.2.3", "12345::"]),
    **{
        f"uuid{n}": ([f"2eb8aa08-AA98-{n}1ea-b4aa-73b441d16380"], ["2eb8aa08-AA98-01ea-b4aa-73b441d16380", "2eb8"])
        for n in range(1, 9)
    },
}


def test_every_format_of_the_table_has_examples():
    assert set(EXAMPLES) == {*STANDARD, *OTHERS}


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_members_and_others(name):
    table = Expressions()
    node = compile_format(table, name)
    members, others = EXAMPLES[name]
    assert [text for text in members if not table.after(node, json_body(text)).nullable] == []
    assert [text for text in others if table.after(node, json_body(text)).nullable] == []


@pytest.mark.parametrize("name", sorted(INTEGERS))
def test_integers_in_range(name):
    low, high = INTEGERS[name]
    bits = int(name.strip("uint"))
    assert high - low == 2**bits - 1
    assert low == (0 if name.startswith("u") else -(2 ** (bits - 1)))
    for kind in ("integer", "number", ["integer", "string"]):
        grammar = compile_constraint(JsonSchema({"type": kind, "format": name}))
        assert [grammar.accepts(str(value)) for value in (low - 1, low, 0, high, high + 1)] == [0, 1, 1, 1, 0]
        assert not grammar.accepts("0.5")
        assert grammar.accepts('"any"') == (kind == ["integer", "string"])
        assert compile_constraint(JsonSchema({"type": kind, "format": name}, open=True)).accepts(str(high + 1))


@pytest.mark.parametrize("name", sorted(OTHERS))
def test_formats_of_others_are_annotations_to_the_letter(name):
    schema = {"type": "string", "format": name}
    assert not compile_constraint(JsonSchema(schema)).accepts('"?"')
    assert compile_constraint(JsonSchema(schema, open=True)).accepts('"?"')


@pytest.mark.parametrize("name", [*NOT_REGULAR, "no-such-format"])
def test_the_rest_is_refused(name):
    with pytest.raises(UnsupportedSchemaError, match=name) as caught:
        compile_constraint(JsonSchema({"type": "string", "format": name}))
    assert caught.value.keyword == "format"


def test_hints_restrict_nothing_and_unknown_formats_only_the_closed_world():
    assert compile_constraint(JsonSchema({"type": "string", "format": "password"})).accepts('"x"')
    assert compile_constraint(JsonSchema({"type": "string", "format": "no-such-format"}, open=True)).accepts('"x"')
