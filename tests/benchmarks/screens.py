"""How much of a screen is read right: `python tests/benchmarks/screens.py [--spoil clean,blur,…] [--every 1]`.

Forty pages (ten layouts in four themes and languages, up to 412 × 915 or 1280 × 900 pixels) are drawn by Chromium from
known HTML. An element is found where a read one's box overlaps its own by half (IoU); its role and state count there.
A text counts where an element at its place says exactly the same, white space and drawn bullets aside.
"""

import argparse
import sys
import tempfile
from collections import Counter
from contextlib import suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
from made_screens import LAYOUTS, THEMES, MadeElement, browser, make_screen
from PIL import Image
from spoiled import SPOILS, spoil

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


def main() -> None:
    """Draw, read, print a table."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--spoil", default=",".join(SPOILS), help="kinds, with commas between them")
    parser.add_argument("--every", type=int, default=1, help="read every n-th page only")
    parser.add_argument("--misses", action="store_true", help="list what was missed on stderr")
    options = parser.parse_args()
    kinds = options.spoil.split(",")
    totals: dict[str, Counter] = {kind: Counter() for kind in kinds}
    roles: dict[str, Counter] = {}
    with tempfile.TemporaryDirectory() as folder, browser() as chromium:
        pages = [(layout, theme) for layout in LAYOUTS for theme in THEMES][:: options.every]
        done = 0
        with suppress(KeyboardInterrupt):  # an interrupted run says what it has
            for number, (layout, theme) in enumerate(pages):
                made = make_screen(chromium, Path(folder) / f"{number}.png", layout, theme)
                for kind in kinds:
                    picture, place = spoil(Image.open(made.path), kind)
                    truth = [MadeElement(one.role, one.text, place(one.box), one.state) for one in made.elements]
                    misses: list[str] = []
                    read = analyze_screenshot(picture).elements
                    totals[kind] += score(truth, read, misses=misses)
                    if kind == kinds[0]:
                        for role in {one.role for one in truth}:
                            one_role = [one for one in truth if one.role == role]
                            roles[role] = roles.get(role, Counter()) + score(one_role, read)
                    if options.misses:
                        print(*(f"{layout} {theme} {kind}: {miss}" for miss in misses), sep="\n", file=sys.stderr)
                done += 1
    names = (("text", "texts"), ("box", "elements"), ("role", "elements"), ("state", "states"))
    print(f"{done} pages".ljust(15) + "".join(f"{name:>18}" for name, _ in names))
    for kind, counts in [*totals.items(), *((f"{kinds[0]} {role}", one) for role, one in sorted(roles.items()))]:
        cells = (
            f"{counts[name]}/{counts[of]} ({counts[name] / counts[of]:.1%})" if counts[of] else "" for name, of in names
        )
        print(f"{kind:15}" + "".join(f"{cell:>18}" for cell in cells))


if __name__ == "__main__":
    main()
