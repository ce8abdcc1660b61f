from made_documents import document_of

ROWS = [
    "Order 4711 of 3 May, delivered in full",
    "",
    "Item          Qty    Price",
    "Nail            2     1.50",
    "Steel bolt     10    12.00",
    "Hinge           1          ",
    "",
    "Thank you for your order",
]


def test_columns_that_line_up_are_a_table() -> None:
    (page,) = document_of(ROWS).pages
    (table,) = page.tables
    assert table.texts() == [
        ["Item", "Qty", "Price"],
        ["Nail", "2", "1.50"],
        ["Steel bolt", "10", "12.00"],
        ["Hinge", "1", ""],
    ]
    words = {word.text: word.box for line in page.lines for word in line.words}
    price = next(cell for cell in table.cells if cell.text == "12.00")
    assert price.box == words["12.00"]
    assert table.box is not None
    assert table.box[0] <= words["Item"][0]
    assert table.box[3] >= words["Hinge"][3]


def test_running_text_is_none() -> None:
    (page,) = document_of(["This is a letter.", "It has three lines", "and not one table."]).pages
    assert page.tables == []


def test_each_page_has_its_own() -> None:
    pages = document_of(ROWS, ["nothing here"], ROWS).pages
    assert [len(page.tables) for page in pages] == [1, 0, 1]
