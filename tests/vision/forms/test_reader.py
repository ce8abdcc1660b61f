import pytest
from drawn import Drawing

from dg_sglang.vision.forms.reader import fields_of
from dg_sglang.vision.screens.reader import read_screen


def test_drawn_and_printed_fields() -> None:
    page = Drawing()
    page.write(40, 20, "Name:")
    page.box(40, 44, 340, 78)
    page.write(50, 52, "Mara Lindqvist")
    page.write(40, 96, "Street")
    page.box(40, 120, 340, 154)
    page.box(40, 180, 56, 196)
    page.write(66, 180, "I agree")
    page.write(40, 230, "Date: 3 May 2026")
    page.write(40, 260, "Town:")
    page.write(140, 260, "Bergen")
    page.write(40, 290, "Signature: ________")
    page.write(40, 330, "Open from 12:30 on")
    fields = fields_of(read_screen(page.pixels, page.texts))
    assert [(field.kind, field.label, field.value, field.checked) for field in fields] == [
        ("text", "Name", "Mara Lindqvist", None),
        ("text", "Street", None, None),
        ("checkbox", "I agree", None, False),
        ("text", "Date", "3 May 2026", None),
        ("text", "Town", "Bergen", None),
        ("text", "Signature", None, None),
    ]
    assert fields[0].box == pytest.approx((40, 44, 340, 78), abs=2)
