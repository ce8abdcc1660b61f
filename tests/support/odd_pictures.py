"""Pictures of odd sizes, for counting their soft tokens, and of sizes that nobody should decode."""

import struct
import zlib

import numpy as np
from PIL import Image

SIZES = [
    *((1, 1), (1, 2), (2, 1), (7, 5), (16, 16), (17, 16), (31, 33), (47, 49), (48, 48), (49, 48), (64, 200), (99, 101)),
    *((100, 3), (3, 100), (128, 96), (200, 50), (333, 111), (224, 224), (240, 320), (500, 20), (20, 500), (401, 399)),
    *((1, 5000), (5000, 1)),
    *((640, 480), (480, 640), (768, 90), (1000, 333), (1023, 1025), (5, 900), (900, 5), (1200, 800)),
]


def noise(width: int, height: int, seed: int = 0) -> Image.Image:
    """Random pixels, others for each size and seed."""
    values = np.random.default_rng((width, height, seed)).integers(0, 255, (height, width, 3), np.uint8)
    return Image.fromarray(values)


def header_of_a_png(width: int, height: int) -> bytes:
    """A file that is broken behind its header: an error about its size shows that it was never decoded."""
    header = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = struct.pack(">I", 13) + header + struct.pack(">I", zlib.crc32(header)) + struct.pack(">I", 9) + b"IDAT"
    return b"\x89PNG\r\n\x1a\n" + chunks
