"""Masks drawn pixel by pixel: a line, and what is none."""

import cv2
import numpy as np
import pytest

from dg_sglang.vision.charts.refusals import have_whiskers, look_at

CORNERS = [(40, 220), (140, 90), (240, 160), (340, 60), (440, 130)]


def line(width: int = 2) -> np.ndarray:
    mask = np.zeros((300, 500), np.uint8)
    cv2.polylines(mask, [np.array(CORNERS)], False, 1, width)
    return mask


def test_lines_are_lines() -> None:
    marked, dashed, steep = line(), line(), np.zeros((300, 500), np.uint8)
    for corner in CORNERS:
        cv2.circle(marked, corner, 5, 1, -1)
    dashed[:, ::12] = dashed[:, 1::12] = dashed[:, 2::12] = 0
    cv2.polylines(steep, [np.array([(40, 20), (60, 280), (80, 20), (100, 280)])], False, 1, 2)
    for mask in (line(), line(5), marked, dashed, steep):
        look = look_at(mask > 0)
        assert look.problem is None
        assert not look.is_filled


@pytest.mark.parametrize("kind", ["area", "error bars", "medians", "boxes", "two lines"])
def test_other_things_are_named(kind: str) -> None:
    mask = line()
    words = kind
    if kind == "area":
        cv2.fillPoly(mask, [np.array([*CORNERS, (440, 280), (40, 280)])], 1)
    elif kind == "error bars":
        for x, y in CORNERS:
            cv2.line(mask, (x, y - 25), (x, y + 40), 1, 2)
    elif kind == "two lines":
        cv2.polylines(mask, [np.array([(x, y + 50) for x, y in CORNERS])], False, 1, 2)
    else:
        mask[:] = 0
        for x, y in CORNERS:
            cv2.line(mask, (x - 15, y), (x + 15, y), 1, 2)
            if kind == "boxes":
                cv2.rectangle(mask, (x - 15, y - 30), (x + 15, y + 30), 1, 2)
        words = "box"
    if kind == "two lines":
        words = "two lines of one colour"
    look = look_at(mask > 0)
    assert look.problem is not None
    assert words in look.problem
    assert look.is_filled == (kind == "area")


def test_dots_with_error_bars_have_whiskers() -> None:
    dots = np.zeros((300, 500), np.uint8)
    for corner in CORNERS:
        cv2.circle(dots, corner, 5, 1, -1)
    assert not have_whiskers(dots > 0)
    for x, y in CORNERS:
        cv2.line(dots, (x, y - 25), (x, y + 20), 1, 2)
    assert have_whiskers(dots > 0)
