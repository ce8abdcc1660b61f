import pytest
from hypothesis import given
from hypothesis import strategies as st

from dg_sglang.vision.charts.scale import Tick, fit_scale, read_number, read_numbers


@pytest.mark.parametrize(
    ("text", "value", "suffix"),
    [
        ("0", 0, ""),
        ("−2.5", -2.5, ""),
        ("1,200", 1200, ""),
        ("1.200.000", 1_200_000, ""),
        ("0.125", 0.125, ""),
        ("0,5", 0.5, ""),
        ("12,345.6", 12345.6, ""),
        ("$40", 40, "$"),
        ("-$40k", -40_000, "k"),
        ("−€1.5M", -1_500_000, "M"),
        ("$5m", 5e6, "m"),
        ("12,5 €", 12.5, "€"),
        ("20 Mio.", 20e6, "Mio."),
        ("3 million", 3e6, "million"),
        ("40 km", 40, "km"),
        ("35 %", 35, "%"),
        ("1.5k", 1500, "k"),
        ("2M", 2e6, "M"),
        ("1e3", 1000, ""),
    ],
)
def test_tick_labels_are_read_as_numbers(text: str, value: float, suffix: str) -> None:
    assert read_number(text) == (pytest.approx(value), suffix)


@pytest.mark.parametrize("text", ["Jan", "", "Q3", "3rd floor", "12 May", "-", "1.2.3.4x", "5 m", "1/24", "2024-01"])
def test_other_labels_are_no_numbers(text: str) -> None:
    assert read_number(text) is None


@given(
    slope=st.floats(-50, 50).filter(lambda slope: abs(slope) > 0.01),
    offset=st.floats(-1000, 1000),
    count=st.integers(3, 9),
    shifts=st.lists(st.floats(-1, 1), min_size=9, max_size=9),
)
def test_a_scale_is_found_from_ticks_that_are_a_pixel_off(
    slope: float, offset: float, count: int, shifts: list[float]
) -> None:
    ticks = [Tick(slope * (40 * number) + offset, 40 * number + shifts[number]) for number in range(count)]
    scale = fit_scale(ticks)
    assert scale is not None
    assert scale.value(20.0) == pytest.approx(slope * 20 + offset, abs=abs(slope) * 3 + 1e-6)


def test_one_wrong_label_does_not_move_the_scale() -> None:
    ticks = [Tick(value, 300 - value) for value in (0, 50, 100, 150, 200)] + [Tick(8, 50)]
    scale = fit_scale(ticks)
    assert scale is not None
    assert scale.value(200) == pytest.approx(100)
    assert len(scale.ticks) == 5


def test_powers_of_ten_make_a_logarithmic_scale_and_noise_makes_none() -> None:
    scale = fit_scale([Tick(10.0**power, 100 * power) for power in range(5)])
    assert scale is not None
    assert scale.kind == "logarithmic"
    assert scale.value(250) == pytest.approx(10**2.5)
    assert fit_scale([Tick(3, 0), Tick(90, 40), Tick(4, 80), Tick(77, 130), Tick(5, 200)]) is None
    assert fit_scale([Tick(3, 0)]) is None


def test_powers_of_ten_among_their_like() -> None:
    assert values("10⁴", "10³", "102", "10¹", "10º") == [1e4, 1e3, 1e2, 10, 1]
    assert values("10⁻²", "10⁻¹", "x") == [0.01, 0.1, None]
    assert values("101", "102", "103") == [101, 102, 103]


def values(*labels: str) -> list[float | None]:
    numbers, doubt = read_numbers(labels)
    assert doubt is None
    return [number and number[0] for number in numbers]


def test_the_labels_of_an_axis_tell_what_parts_thousands() -> None:
    assert values("0", "2.000", "4.000") == [0, 2000, 4000]
    assert values("0", "500", "1.000", "1.500 €") == [0, 500, 1000, 1500]
    assert values("1.000", "1.500.000") == [1000, 1_500_000]
    assert values("0.000", "1.250", "2.500") == [0, 1.25, 2.5]
    assert values("0,000", "1,250", "2,500") == [0, 1.25, 2.5]
    assert values("1,000", "2,000") == [1000, 2000]
    numbers, doubt = read_numbers(["1.025", "1.050"])
    assert numbers == [(1.025, ""), (1.05, "")]
    assert doubt is not None
    assert "thousands" in doubt


def test_two_labels_that_are_powers_of_ten_tell_no_scale() -> None:
    assert fit_scale([Tick(1, 300), Tick(10, 100)]) is None
    assert fit_scale([Tick(0, 300), Tick(10, 100)]) is not None
    assert fit_scale([Tick(5, 300), Tick(10, 100)]) is not None
