"""The coloured parts of a chart: one mask per series colour, and the connected pieces of a mask."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_]

_BITS = 3  # colours are counted in cells of 2^_BITS levels
_SAME = 18.0  # Lab distance below which two colours are one, unless
_ALIKE, _RIVAL = 9.0, 0.15  # they are no greys, that far apart, and one has at least this share of the other's pixels
CHROMATIC = 18.0
"""Lab chroma from which a colour is no shade of grey."""
_LEAST_SHARE = 2e-4  # of the picture, for a colour to count


@dataclass(frozen=True)
class Colour:
    """A colour of marks: RGB, and where it is."""

    rgb: tuple[int, int, int]
    mask: Mask

    @property
    def name(self) -> str:
        """#rrggbb."""
        return "#{:02x}{:02x}{:02x}".format(*self.rgb)


@dataclass(frozen=True)
class Piece:
    """A connected piece of a mask: box (x0, y0, x1, y1) in pixel edges, pixels, centre."""

    box: tuple[int, int, int, int]
    area: int
    centre: tuple[float, float]
    label: int

    @property
    def width(self) -> int:
        """In pixels."""
        return self.box[2] - self.box[0]

    @property
    def height(self) -> int:
        """In pixels."""
        return self.box[3] - self.box[1]

    @property
    def fill(self) -> float:
        """Share of the box that the piece covers."""
        return self.area / (self.width * self.height)


def find_colours(pixels: NDArray[np.uint8], area: Mask) -> list[Colour]:
    """The colours of marks inside `area`, the most frequent first: chromatic ones, and dark solid greys.

    Args:
        pixels: uint8 [height, width, 3], RGB.
        area: where to look.
    """
    lab = cv2.cvtColor(pixels, cv2.COLOR_RGB2LAB).astype(np.float32)
    lab[..., 0] *= 100 / 255
    lab[..., 1:] -= 128
    inside = pixels[area]
    cells = (inside >> _BITS).astype(np.int32)
    keys = (cells[:, 0] << 16) | (cells[:, 1] << 8) | cells[:, 2]
    _, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
    least = max(12, _LEAST_SHARE * area.sum())
    labs = lab[area]
    peaks: list[tuple[int, NDArray[np.float32], tuple[int, int, int]]] = []
    for index in np.argsort(-counts):
        if counts[index] < least / 4:
            break
        members = inverse == index
        centre = np.median(labs[members], 0)
        chromatic = np.hypot(centre[1], centre[2]) > CHROMATIC
        if all(
            (apart := float(np.linalg.norm(centre - other))) > _SAME
            or (chromatic and apart > _ALIKE and counts[index] > max(least, _RIVAL * count))
            for count, other, _ in peaks
        ):
            red, green, blue = (int(level) for level in np.median(inside[members], 0))
            peaks.append((int(counts[index]), centre, (red, green, blue)))
    if not peaks:
        return []
    centres = np.stack([centre for _, centre, _ in peaks])
    nearest = np.full(area.shape, -1, np.int32)
    distance = np.linalg.norm(labs[:, None] - centres[None], axis=2)
    choice = distance.argmin(1)
    choice[distance.min(1) > _SAME] = -1
    nearest[area] = choice
    chromas = np.hypot(centres[:, 1], centres[:, 2])
    background = int(np.argmax(chromas < CHROMATIC))  # the most frequent grey; a tinted page has no grey
    colours = []
    for index, (_, _, rgb) in enumerate(peaks):
        if index == background:
            continue
        chroma = float(chromas[index])
        mask = nearest == index
        if mask.sum() < least or (chroma < CHROMATIC and not _is_solid(mask)):
            continue
        colours.append(Colour(rgb, mask))
    colours.sort(key=lambda colour: -int(colour.mask.sum()))
    return [colour for index, colour in enumerate(colours) if not _is_edge(colour, colours[:index])]


def _is_edge(colour: Colour, larger: list[Colour]) -> bool:
    """Whether it only borders on one larger colour, as the blended pixels of smooth edges do."""
    kernel = np.ones((5, 5), np.uint8)
    area = colour.mask.sum()
    return any((cv2.dilate(other.mask.astype(np.uint8), kernel)[colour.mask]).sum() > 0.85 * area for other in larger)


def _is_solid(mask: Mask) -> bool:
    """Whether it has an inside, as bars have and text, axes and grids don't."""
    inner = cv2.erode(mask.astype(np.uint8), np.ones((7, 7), np.uint8))
    return bool(inner.sum() > 0.4 * mask.sum())


def pieces(mask: Mask, *, least: int = 6) -> tuple[list[Piece], NDArray[np.int32]]:
    """The connected pieces of at least that many pixels, from left to right, and the label of each pixel."""
    _, labels, stats, centres = cv2.connectedComponentsWithStats(mask.astype(np.uint8), connectivity=8)
    found = [
        Piece((int(x), int(y), int(x + w), int(y + h)), int(area), (float(centres[i][0]), float(centres[i][1])), i)
        for i, (x, y, w, h, area) in enumerate(stats)
        if i and area >= least
    ]
    return sorted(found, key=lambda piece: piece.box[0]), labels.astype(np.int32)


def closed(mask: Mask, size: int) -> Mask:
    """With gaps up to `size` pixels filled, as grid lines cut them."""
    kernel = np.ones((size, size), np.uint8)
    padded = cv2.copyMakeBorder(mask.astype(np.uint8), size, size, size, size, cv2.BORDER_CONSTANT)
    result = np.asarray(cv2.morphologyEx(padded, cv2.MORPH_CLOSE, kernel))
    return result[size:-size, size:-size] > 0
