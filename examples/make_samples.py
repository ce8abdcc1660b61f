"""Make the samples beside this script: an invoice, a receipt, a chart and a screenshot. All of it is invented."""

from decimal import Decimal
from io import BytesIO
from pathlib import Path

import numpy as np
import pymupdf
from PIL import Image, ImageDraw, ImageFilter, ImageFont

FOLDER = Path(__file__).parent
LEFT, RIGHT = 62.0, 533.0
GREY = (0.35, 0.35, 0.35)

SELLER = ["Hofmann & Brandt Bürotechnik GmbH", "Lindenstraße 48", "70563 Stuttgart"]
BUYER = ["Kanzlei Dr. Seidel & Partner", "Frau Miriam Ostertag", "Am Alten Zollhof 7", "76133 Karlsruhe"]
DETAILS = [
    ("Rechnungsnummer", "RE-2025-03417"),
    ("Rechnungsdatum", "14.03.2025"),
    ("Lieferdatum", "11.03.2025"),
    ("Bestellung vom", "03.03.2025"),
    ("Kundennummer", "K-20815"),
]
COLUMNS = [("Pos.", LEFT, "left"), ("Bezeichnung", 92.0, "left"), ("Menge", 352.0, "right")]
COLUMNS += [("Einzelpreis", 440.0, "right"), ("Betrag", RIGHT, "right")]
ITEMS = [
    ("Aktenschrank Metall, abschließbar", 2, Decimal("389.00")),
    ("Bürodrehstuhl Modell Kolding", 6, Decimal("214.50")),
    ("Toner schwarz TK-5280", 4, Decimal("78.95")),
    ("Lieferung und Montage", 1, Decimal("165.00")),
]
VAT = Decimal("0.19")

SHOP = ["GREENFIELD MARKET", "14 Station Road", "Harrogate HG1 4QT", "VAT No. 318 4471 06"]
BOUGHT = [
    ("Wholemeal Bread 800g", "1.85"),
    ("Free Range Eggs x6", "2.40"),
    ("Cheddar Mature 350g", "4.15"),
    ("Braeburn Apples 1.2kg", "2.76"),
    ("Oat Milk 1L x 2", "3.90"),
]


VISITORS = {
    "2022": {"Spring": 420, "Summer": 910, "Autumn": 560, "Winter": 230},
    "2023": {"Spring": 515, "Summer": 1080, "Autumn": 640, "Winter": 310},
}
BLUE, ORANGE, DARK, PALE = "#2f6db3", "#e07b2a", "#222222", "#9aa0a6"


def main() -> None:
    """Write all files."""
    make_invoice(FOLDER / "invoice.pdf")
    make_receipt(FOLDER / "receipt.png")
    make_chart(FOLDER / "chart.png")
    make_screenshot(FOLDER / "screenshot.png")


def german(amount: Decimal) -> str:
    """1234.5 as 1.234,50."""
    return f"{amount:,.2f}".translate(str.maketrans(",.", ".,"))


def make_invoice(path: Path) -> None:
    """A German invoice on one page, with a text layer."""
    fonts = {"plain": pymupdf.Font("helv"), "bold": pymupdf.Font("hebo")}
    pdf = pymupdf.open()
    page = pdf.new_page(width=595, height=842)

    def write(x: float, y: float, text: str, size: float = 9.5, *, style: str = "plain", align: str = "left") -> None:
        width = fonts[style].text_length(text, size)
        writer = pymupdf.TextWriter(page.rect, color=GREY if size < 8 else (0, 0, 0))
        writer.append((x - width if align == "right" else x, y), text, font=fonts[style], fontsize=size)
        writer.write_text(page)

    def rule(y: float, width: float = 0.6) -> None:
        page.draw_line((LEFT, y), (RIGHT, y), width=width, color=GREY)

    write(LEFT, 70, SELLER[0], 15, style="bold")
    write(LEFT, 84, "Möbel, Geräte und Verbrauchsmaterial für Büro und Kanzlei", 7.5)
    write(LEFT, 138, " · ".join(SELLER), 6.5)
    for index, line in enumerate(BUYER):
        write(LEFT, 158 + 13 * index, line)
    for index, (label, value) in enumerate(DETAILS):
        write(348, 158 + 13 * index, label)
        write(RIGHT, 158 + 13 * index, value, align="right")
    write(LEFT, 262, "Rechnung", 15, style="bold")
    write(LEFT, 284, "Vielen Dank für Ihren Auftrag. Wir berechnen Ihnen folgende Leistungen:")
    for name, x, align in COLUMNS:
        write(x, 314, name, style="bold", align=align)
    rule(320, 1.0)
    net = Decimal(0)
    for index, (name, quantity, price) in enumerate(ITEMS):
        cells = [str(index + 1), name, str(quantity), german(price), german(price * quantity)]
        net += price * quantity
        for (_, x, align), cell in zip(COLUMNS, cells, strict=True):
            write(x, 338 + 18 * index, cell, align=align)
    end = 338 + 18 * len(ITEMS)
    rule(end - 8)
    tax = (net * VAT).quantize(Decimal("0.01"))
    totals = [("Nettobetrag", net), ("zzgl. 19 % MwSt.", tax), ("Rechnungsbetrag", net + tax)]
    for index, (label, amount) in enumerate(totals):
        style = "bold" if index == 2 else "plain"
        write(348, end + 10 + 16 * index, label, style=style)
        write(RIGHT, end + 10 + 16 * index, f"{german(amount)} €", style=style, align="right")
    write(LEFT, end + 84, "Zahlbar bis 13.04.2025 ohne Abzug. Bitte geben Sie die Rechnungsnummer an.")
    write(LEFT, end + 98, "Die Ware bleibt bis zur vollständigen Bezahlung unser Eigentum.")
    rule(776)
    write(LEFT, 788, "Geschäftsführer: Karl Brandt · Amtsgericht Stuttgart HRB 741932 · USt-IdNr. DE812507364", 7)
    write(LEFT, 799, "Volksbank Stuttgart · IBAN DE02 6009 0100 0412 7785 03 · BIC VOBADESS", 7)
    pdf.set_metadata({"title": "Rechnung RE-2025-03417", "author": SELLER[0]})
    pdf.save(path, garbage=4, deflate=True, deflate_fonts=True, no_new_id=True)


def make_receipt(path: Path) -> None:
    """An English till receipt, as a slightly crooked and noisy scan."""
    width, size = 620, 28
    typewriter = pymupdf.Font("cour").buffer
    fonts = {scale: ImageFont.truetype(BytesIO(typewriter), round(size * scale)) for scale in (1.0, 1.35)}
    image = Image.new("L", (width, 880), 252)
    draw = ImageDraw.Draw(image)
    y = 40.0

    def write(left: str, right: str = "", *, scale: float = 1.0, centred: bool = False) -> None:
        nonlocal y
        font = fonts[scale]
        draw.text(((width - font.getlength(left)) / 2 if centred else 50, y), left, fill=20, font=font)
        if right:
            draw.text((width - 50 - font.getlength(right), y), right, fill=20, font=font)
        y += 1.45 * scale * size

    for index, line in enumerate(SHOP):
        write(line, scale=1.35 if index == 0 else 1.0, centred=True)
    y += size
    write("Date 18/07/2025", "Time 17:42")
    write("Till 03", "Receipt 118204")
    y += 0.6 * size
    for name, price in BOUGHT:
        write(name, price)
    y += 0.6 * size
    total = sum(Decimal(price) for _, price in BOUGHT)
    write("Subtotal", f"{total}")
    write("TOTAL", f"£{total}", scale=1.35)
    write("Cash", "£20.00")
    write("Change", f"£{20 - total}")
    y += size
    write("Thank you for shopping with us", centred=True)
    scan = image.rotate(0.7, resample=Image.Resampling.BICUBIC, fillcolor=252).filter(ImageFilter.GaussianBlur(0.7))
    noise = np.random.default_rng(7).normal(0, 6, (scan.height, scan.width))
    pixels = np.clip(np.asarray(scan, dtype=np.float32) + noise, 0, 255).astype(np.uint8)
    Image.fromarray(pixels & 0xF0).save(path, optimize=True, dpi=(200, 200))


def make_chart(path: Path) -> None:
    """Bars in groups of two, with a legend."""
    image = Image.new("RGB", (760, 460), "white")
    pen = ImageDraw.Draw(image)
    plain, large = ImageFont.load_default(16), ImageFont.load_default(22)
    pen.text((400, 28), "Visitors of the museum", fill=DARK, font=large, anchor="mm")
    foot, unit = 400, 320 / 1200  # pixels per visitor
    for value in range(0, 1201, 200):
        y = foot - value * unit
        pen.line((80, y, 730, y), fill="#dddddd")
        pen.text((70, y), str(value), fill=DARK, font=plain, anchor="rm")
    for number, (year, color) in enumerate(zip(VISITORS, (BLUE, ORANGE), strict=True)):
        for place, (season, value) in enumerate(VISITORS[year].items()):
            x = 115 + 160 * place + 50 * number
            pen.rectangle((x, foot - value * unit, x + 49, foot), fill=color)
            if number == 0:
                pen.text((x + 50, foot + 20), season, fill=DARK, font=plain, anchor="mm")
        pen.rectangle((640, 70 + 28 * number, 664, 84 + 28 * number), fill=color)
        pen.text((674, 77 + 28 * number), year, fill=DARK, font=plain, anchor="lm")
    pen.line((80, foot, 730, foot), fill=DARK)
    image.quantize(32).save(path, optimize=True)


def make_screenshot(path: Path) -> None:
    """A page of settings."""
    image = Image.new("RGB", (640, 470), "white")
    pen = ImageDraw.Draw(image)
    plain, large = ImageFont.load_default(16), ImageFont.load_default(27)
    pen.text((30, 44), "Account settings", fill=DARK, font=large, anchor="lm")
    fields = (("Display name", "Ines Prado", DARK), ("Email address", "name@example.org", PALE))
    for number, (label, value, color) in enumerate(fields):
        y = 92 + 78 * number
        pen.text((30, y), label, fill=DARK, font=plain, anchor="lm")
        pen.rounded_rectangle((30, y + 16, 370, y + 52), 5, outline="#8a8f98")
        pen.text((42, y + 34), value, fill=color, font=plain, anchor="lm")
    for number, (label, on) in enumerate((("Send me the weekly summary", True), ("Use dark colours", False))):
        y = 256 + 34 * number
        pen.rounded_rectangle((30, y, 47, y + 17), 3, outline=BLUE if on else "#8a8f98", fill=BLUE if on else "white")
        if on:
            pen.line(((34, y + 9), (38, y + 13), (44, y + 5)), fill="white", width=2)
        pen.text((58, y + 9), label, fill=DARK, font=plain, anchor="lm")
    for x, label, fill, color in ((30, "Save changes", BLUE, "white"), (190, "Cancel", "white", BLUE)):
        pen.rounded_rectangle((x, 340, x + 140, 380), 5, outline=BLUE, fill=fill)
        pen.text((x + 70, 360), label, fill=color, font=plain, anchor="mm")
    pen.text((30, 420), "Read the privacy notice", fill=BLUE, font=plain, anchor="lm")
    pen.line((30, 430, 30 + pen.textlength("Read the privacy notice", plain), 430), fill=BLUE)
    image.quantize(32).save(path, optimize=True)


if __name__ == "__main__":
    main()
