"""Float32 arithmetic that LLVM turns into vector instructions: numba has neither a vector `exp` nor a vector `max`."""

from __future__ import annotations

import numpy as np
from numba import njit, types
from numba.extending import intrinsic, overload

FAST = {"reassoc", "contract", "nsz"}
"""What sums need in order to be vectorised. Infinities and NaN keep their meaning."""

EXP_FLOOR = np.float32(-87.0)
"""`exp` of less is not a normal float32."""

LEAST = np.int32(-(2**31))
"""Below the `ordered` key of every number."""

_LOG2E, _HALF, _ONE = np.float32(1.4426950408889634), np.float32(0.5), np.float32(1.0)
_LN2_HIGH, _LN2_LOW = np.float32(0.693359375), np.float32(-2.12194440e-4)  # Cody & Waite 1980: ln 2 in two parts
# exp(r) = 1 + r + r² · polynomial on |r| ≤ ln 2 / 2, coefficients of Cephes' expf (Moshier 1989); 1e-7 relative.
_C0, _C1, _C2, _C3, _C4, _C5 = (
    np.float32(c)
    for c in (1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)
)
_SIGN, _MAGNITUDE, _BIAS, _MANTISSA = np.int32(31), np.int32(0x7FFFFFFF), np.int32(127), np.int32(23)


def _bitcast(source, result):
    @intrinsic
    def cast(_context, _value):
        def generate(context, builder, _signature, arguments):
            return builder.bitcast(arguments[0], context.get_value_type(result))

        return result(source), generate

    return cast


bits = _bitcast(types.float32, types.int32)
from_bits = _bitcast(types.int32, types.float32)


@njit(cache=True, fastmath={"contract"})
def exp(x):
    """exp(x) for −87 ≤ x ≤ 88, float32; NaN stays NaN."""
    n = np.floor(x * _LOG2E + _HALF)
    r = x - n * _LN2_HIGH
    r = r - n * _LN2_LOW
    p = ((((_C0 * r + _C1) * r + _C2) * r + _C3) * r + _C4) * r + _C5
    return (p * (r * r) + r + _ONE) * from_bits((np.int32(n) + _BIAS) << _MANTISSA)


@njit(cache=True)
def ordered(x):
    """An int32 that sorts as the float32 x does: an integer maximum is vectorised, a float one is not."""
    key = bits(x)
    return key ^ ((key >> _SIGN) & _MAGNITUDE)


@njit(cache=True)
def from_ordered(key):
    """The float32 with this key."""
    return from_bits(key ^ ((key >> _SIGN) & _MAGNITUDE))


def load(_x):
    """A logit as float32: of float32, or of bfloat16 whose bits come as uint16."""
    raise NotImplementedError


@overload(load)
def _load(x):
    if x == types.uint16:
        return lambda x: from_bits(np.int32(x) << np.int32(16))
    return lambda x: x
