"""Screens drawn shape by shape, their texts given: no text recognition here."""

from drawn import Drawing

from dg_sglang.vision.screens.model import Element, Screen
from dg_sglang.vision.screens.reader import read_screen


def read(drawing: Drawing) -> Screen:
    return read_screen(drawing.pixels, drawing.texts)


def one(screen: Screen, role: str) -> Element:
    (found,) = [element for element in screen.elements if element.role == role]
    return found


def test_a_form_with_its_controls() -> None:
    page = Drawing()
    page.write(40, 20, "Your account", size=26)
    for number, (label, value, color) in enumerate((("Name", "Mara", "#222222"), ("City", "e.g. Oslo", "#aaaaaa"))):
        page.write(40, 70 + 70 * number, label)
        page.box(40, 92 + 70 * number, 340, 126 + 70 * number)
        page.write(50, 100 + 70 * number, value, color)
    page.box(40, 230, 56, 246)
    page.write(66, 230, "Remember me")
    page.box(40, 260, 56, 276, fill="#1a5fb4")
    page.pen.line(((43, 268), (47, 272), (53, 264)), fill="white", width=2)
    page.write(66, 260, "Send news")
    page.box(40, 300, 160, 336, fill="#1a5fb4")
    page.write(75, 310, "Continue", "#ffffff")
    screen = read(page)
    assert one(screen, "heading").text == "Your account"
    fields = [element for element in screen.elements if element.role == "textbox"]
    assert [(field.label, field.text, field.state) for field in fields] == [
        ("Name", "Mara", "filled"),
        ("City", "e.g. Oslo", "placeholder"),
    ]
    ticks = [element for element in screen.elements if element.role == "checkbox"]
    assert [(tick.label, tick.state) for tick in ticks] == [("Remember me", "unchecked"), ("Send news", "checked")]
    button = one(screen, "button")
    assert button.text == "Continue"
    assert all(abs(edge - true) <= 2 for edge, true in zip(button.box, (40, 300, 160, 336), strict=True))
    assert sorted(text.text for text in page.texts) == sorted(
        element.text for element in screen.elements if element.text
    )
    assert [element.text for element in screen.elements][:2] == ["Your account", "Name"]


def test_cards_hold_what_stands_in_them() -> None:
    page = Drawing(ground="#20242c")
    for x, name in ((30, "Visitors"), (300, "Revenue")):
        page.box(x, 40, x + 220, 140, line="#555c66", fill="#2b3038")
        page.write(x + 20, 56, name, "#eeeeee")
        page.write(x + 20, 90, "1024 today", "#eeeeee")
    screen = read(page)
    boxes = [index for index, element in enumerate(screen.elements) if element.role == "box"]
    assert screen.children() == boxes
    assert [[screen.elements[child].text for child in screen.children(index)] for index in boxes] == [
        ["Visitors", "1024 today"],
        ["Revenue", "1024 today"],
    ]
    assert [len(node["children"]) for node in screen.tree()] == [2, 2]


def test_a_ruled_table_and_one_without_rules() -> None:
    rows = (("Item", "Price"), ("Bread", "2.10"), ("Milk", "1.35"))
    for ruled in (True, False):
        page = Drawing()
        for number, (left, right) in enumerate(rows):
            y = 60 + 34 * number
            if ruled:
                page.box(40, y, 201, y + 35)
                page.box(200, y, 301, y + 35)
            page.write(52, y + 9, left)
            page.write(212, y + 9, right)
        page.write(40, 250, "Thank you")
        screen = read(page)
        table = screen.elements.index(one(screen, "table"))
        assert [screen.elements[index].text for index in screen.children(table)] == [
            cell for row in rows for cell in row
        ]
        assert screen.elements[-1].role == "text"


def test_tabs_show_which_one_is_selected_and_links_are_underlined() -> None:
    page = Drawing()
    for x, name in ((40, "Overview"), (150, "Reports"), (250, "Archive")):
        text = page.write(x, 30, name)
        if name == "Reports":
            page.pen.rectangle((text.box[0] - 10, 56, text.box[2] + 10, 58), fill="#1a5fb4")
    text = page.write(40, 120, "Read all about it", "#1a5fb4")
    page.pen.line((text.box[0] + 2, text.box[3] - 2, text.box[2] - 2, text.box[3] - 2), fill="#1a5fb4")
    screen = read(page)
    states = {element.text: element.state for element in screen.elements if element.role == "tab"}
    assert states == {"Overview": "unselected", "Reports": "selected", "Archive": "unselected"}
    assert one(screen, "link").text == "Read all about it"


def test_what_cannot_be_told_is_a_text_a_box_or_an_image() -> None:
    page = Drawing()
    page.box(40, 40, 300, 200)  # empty and large
    page.pen.ellipse((60, 260, 76, 276), fill="#2e9e4f")  # a coloured dot is no radio button
    page.write(90, 260, "Online")
    for step in range(60):
        page.pen.line((400 + step, 250, 400 + step, 330), fill=(4 * step, 255 - 4 * step, 90))
    screen = read(page)
    roles = [element.role for element in screen.elements]
    assert "radio" not in roles
    assert "textbox" not in roles
    assert one(screen, "text").text == "Online"
    assert roles.count("image") == 1
    assert "box" in roles
    assert all(element.state is None for element in screen.elements)


def test_the_knob_of_a_switch_is_no_radio_button_and_a_tight_frame_no_underline() -> None:
    page = Drawing()
    page.pen.rounded_rectangle((40, 40, 76, 60), 10, fill="#1f883d")
    page.pen.ellipse((58, 42, 74, 58), fill="white")
    page.write(84, 42, "Automatic updates")
    page.box(40, 100, 88, 122, line="#333333", fill="#efefef")
    page.write(44, 103, "Next")
    page.write(40, 160, "Some words to set the usual size")
    roles = {element.role for element in read(page).elements}
    assert not roles & {"radio", "checkbox", "link"}


def test_an_empty_screen_has_no_elements() -> None:
    assert read(Drawing()).elements == []


def test_controls_that_cannot_be_used_show_their_marks_faintly() -> None:
    page = Drawing()
    for y, label, marked in ((40, "Gift wrapping", False), (80, "Newsletter by post", True)):
        page.pen.rounded_rectangle((40, y, 53, y + 13), 2, fill="#d1d1d1")
        if marked:
            page.pen.line(((42, y + 7), (45, y + 10), (50, y + 4)), fill="#ededed", width=2)
        page.write(62, y - 2, label)
    states = {element.label: element.state for element in read(page).elements if element.role == "checkbox"}
    assert states.get("Newsletter by post") == "checked"
    assert states.get("Gift wrapping") != "checked"


def test_a_round_letter_where_a_line_begins_is_no_radio_button() -> None:
    page = Drawing(900, 300)
    page.write(60, 40, "Oslo harbour", size=46)
    page.write(60, 140, "Opening hours", size=46)
    assert not {element.role for element in read(page).elements} & {"radio", "checkbox"}


def test_a_label_at_either_end_of_a_field_is_no_link() -> None:
    page = Drawing()
    for y, x in ((60, 42), (160, 299)):
        page.write(x, y, "Name")
        page.box(40, y + 22, 340, y + 56, line="#555555")
    assert "link" not in {element.role for element in read(page).elements}


def test_a_dialog_on_a_table_keeps_its_button() -> None:
    page = Drawing(700, 500)
    for row in range(8):
        page.box(40, 30 + 34 * row, 201, 65 + 34 * row)
        page.box(200, 30 + 34 * row, 361, 65 + 34 * row)
        if row not in (2, 3, 4):
            page.write(50, 38 + 34 * row, f"Item {row}")
            page.write(210, 38 + 34 * row, f"{row}.50")
    page.box(120, 95, 560, 205, line="#222222", fill="#ffffff")
    page.write(140, 110, "Remove this entry?")
    page.box(140, 150, 250, 188, fill="#1a5fb4")
    page.write(165, 160, "Remove", "#ffffff")
    assert one(read(page), "button").text == "Remove"
