"""How much of a screen is read right: `python tests/benchmarks/screens.py [--spoil clean,blur,…] [--every 1] [--odd]`.

Forty pages (ten layouts in four themes and languages, up to 412 × 915 or 1280 × 900 pixels) are drawn by Chromium from
known HTML. An element is found where a read one's box overlaps its own by half (IoU); its role and state count there.
A text counts where an element at its place says exactly the same, white space and drawn bullets aside.

`--odd` draws a dozen odd pages instead (dark, dense, disabled, from right to left, of a telephone, of 4K …).

`--model PATH` lets a checkpoint that sees read the pages instead of text recognition and geometry; a page that it fails
at counts as one on which it found nothing.
"""

import argparse
import sys
import tempfile
from collections import Counter
from contextlib import suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
from made_screens import LAYOUTS, THEMES, MadeElement, browser, draw_page, make_screen
from odd_screens import PAGES, page_html
from PIL import Image
from spoiled import SPOILS, spoil

from dg_sglang import Engine
from dg_sglang.errors import DgError
from dg_sglang.vision.geometry.boxes import overlap
from dg_sglang.vision.screens import analyze_screenshot
from dg_sglang.vision.screens.model import Element


def score(truth: list[MadeElement], read: list[Element], *, misses: list[str] | None = None) -> Counter:
    """Counts of elements, and of those whose box, role, state and text were read; what was missed, as text."""
    counts: Counter = Counter()
    for element in truth:
        best = max(read, key=lambda one: (overlap(element.box, one.box), one.role == element.role), default=None)
        found = best is not None and overlap(element.box, best.box) >= 0.5
        role = found and best.role == element.role
        said = not element.text or any(
            _plain(one.text) == _plain(element.text) and overlap(element.box, one.box) > 0.2 for one in read
        )
        counts.update(elements=1, box=int(found), role=int(role))
        if element.text:
            counts.update(texts=1, text=int(said))
        if element.state:
            counts.update(states=1, state=int(role and best.state == element.state))
        if misses is not None and not (role and said and best.state == element.state):
            misses.append(f"{element.role} {element.text!r} {element.state or ''} at {element.box}, read: {best!r}")
    return counts


def _plain(text: str) -> str:
    return " ".join(text.replace("•", " ").split())


def read_page(picture: Image.Image | Path, engine: Engine | None) -> list[Element]:
    """What an engine reads, or without one text recognition and geometry."""
    if engine is None:
        return analyze_screenshot(picture).elements
    try:
        return analyze_screenshot(picture, engine=engine, seed=0).elements
    except DgError as error:
        print(error, file=sys.stderr)
        return []


def read_pages(options: argparse.Namespace, tables: dict[str, Counter]) -> int:
    """Fill the tables with the counts of each spoil and of each role; the number of pages."""
    kinds = options.spoil.split(",")
    only = options.only.split(",") if options.only else LAYOUTS
    pages = [(layout, theme) for layout in only for theme in THEMES][:: options.every]
    done = 0
    with tempfile.TemporaryDirectory() as folder, browser() as chromium, suppress(KeyboardInterrupt):
        for layout, theme in pages:  # an interrupted run says what it has
            made = make_screen(chromium, Path(folder) / "page.png", layout, theme)
            for kind in kinds:
                picture, place = spoil(Image.open(made.path), kind)
                truth = [MadeElement(one.role, one.text, place(one.box), one.state) for one in made.elements]
                misses: list[str] = []
                read = read_page(picture, options.engine)
                tables[kind] = tables.get(kind, Counter()) + score(truth, read, misses=misses)
                for role in {one.role for one in truth} if kind == kinds[0] else ():
                    name = f"{kind} {role}"
                    of_role = score([one for one in truth if one.role == role], read)
                    tables[name] = tables.get(name, Counter()) + of_role
                if options.misses:
                    print(*(f"{layout} {theme} {kind}: {miss}" for miss in misses), sep="\n", file=sys.stderr)
            done += 1
    return done


def read_odd_pages(options: argparse.Namespace, tables: dict[str, Counter]) -> int:
    """Fill the tables with the counts of each odd page; the number of pages."""
    names = [name for name in PAGES if not options.only or any(word in name for word in options.only.split(","))]
    with tempfile.TemporaryDirectory() as folder, browser() as chromium, suppress(KeyboardInterrupt):
        for name in names:
            path = Path(folder) / "page.png"
            truth = draw_page(chromium, path, page_html(name), *PAGES[name][1:])
            misses: list[str] = []
            tables[name] = score(list(truth), read_page(path, options.engine), misses=misses)
            if options.misses:
                print(*(f"{name}: {miss}" for miss in misses), sep="\n", file=sys.stderr)
    return len(tables)


def main() -> None:
    """Draw, read, print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spoil", default=",".join(SPOILS), help="ways to spoil them, with commas between them")
    parser.add_argument("--only", default="", help="some layouts (or words in the names of odd pages), with commas")
    parser.add_argument("--every", type=int, default=1, help="read every n-th page only")
    parser.add_argument("--misses", action="store_true", help="list what was missed on stderr")
    parser.add_argument("--odd", action="store_true", help="read odd pages instead")
    parser.add_argument("--model", help="a checkpoint that sees, to read them instead")
    options = parser.parse_args()
    options.engine = Engine.load(options.model) if options.model else None
    tables: dict[str, Counter] = {}
    done = (read_odd_pages if options.odd else read_pages)(options, tables)
    names = (("text", "texts"), ("box", "elements"), ("role", "elements"), ("state", "states"))
    print(f"{done} pages".ljust(22) + "".join(f"{name:>18}" for name, _ in names))
    kinds = options.spoil.split(",")
    for kind, counts in sorted(tables.items(), key=lambda row: 0 if options.odd else row[0] not in kinds):
        cells = (
            f"{counts[name]}/{counts[of]} ({counts[name] / counts[of]:.1%})" if counts[of] else "" for name, of in names
        )
        print(f"{kind:22}" + "".join(f"{cell:>18}" for cell in cells))


if __name__ == "__main__":
    main()
