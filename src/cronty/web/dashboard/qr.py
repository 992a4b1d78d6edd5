"""Draws a short text as a QR code (byte mode, error correction L, versions 1 to 6), as one SVG path."""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

QUIET: Final = 2
_DATA: Final = (19, 34, 55, 80, 108, 136)
"""Bytes of data by version."""
_CHECK: Final = (7, 10, 15, 20, 26, 18)
"""Bytes of error correction of each block."""
_BLOCKS: Final = (1, 1, 1, 1, 1, 2)


@dataclass(frozen=True, slots=True)
class Code:
    size: int
    path: str


class _Grid:
    """Squares, and which of them hold no data."""

    def __init__(self, version: int) -> None:
        self.size = 17 + 4 * version
        self.dark = [[False] * self.size for _ in range(self.size)]
        self.fixed = [[False] * self.size for _ in range(self.size)]
        last = self.size - 7
        for row, column in ((0, 0), (0, last), (last, 0)):
            self._finder(row, column)
        for place in range(8, self.size - 8):
            self.put(6, place, dark=place % 2 == 0)
            self.put(place, 6, dark=place % 2 == 0)
        if version > 1:
            middle = self.size - 7
            for row in range(-2, 3):
                for column in range(-2, 3):
                    self.put(middle + row, middle + column, dark=max(abs(row), abs(column)) != 1)
        self.format(0)

    def put(self, row: int, column: int, *, dark: bool) -> None:
        self.dark[row][column] = dark
        self.fixed[row][column] = True

    def _finder(self, top: int, left: int) -> None:
        for row in range(-1, 8):
            for column in range(-1, 8):
                if 0 <= top + row < self.size and 0 <= left + column < self.size:
                    ring = max(abs(row - 3), abs(column - 3))
                    self.put(top + row, left + column, dark=ring in (0, 1, 3))

    def format(self, mask: int) -> None:
        """The fifteen bits that name the error correction (L) and the mask, twice."""
        value = rest = 0b01 << 3 | mask
        for _ in range(10):
            rest = (rest << 1) ^ ((rest >> 9) * 0x537)
        bits = ((value << 10) | rest) ^ 0x5412
        down = [(row, 8) for row in (0, 1, 2, 3, 4, 5, 7, 8)] + [(8, column) for column in (7, 5, 4, 3, 2, 1, 0)]
        across = [(8, self.size - 1 - place) for place in range(8)]
        across += [(self.size - 7 + place, 8) for place in range(7)]
        for places in (down, across):
            for place, (row, column) in enumerate(places):
                self.put(row, column, dark=bool(bits >> place & 1))
        self.put(self.size - 8, 8, dark=True)

    def data_places(self) -> Iterator[tuple[int, int]]:
        """In pairs of columns from the right, up and down in turn."""
        upward = True
        for right in (*range(self.size - 1, 6, -2), 5, 3, 1):
            for step in range(self.size):
                row = self.size - 1 - step if upward else step
                for column in (right, right - 1):
                    if not self.fixed[row][column]:
                        yield row, column
            upward = not upward


_MASKS: Final[tuple[Callable[[int, int], bool], ...]] = (
    lambda r, c: (r + c) % 2 == 0,
    lambda r, c: r % 2 == 0,
    lambda r, c: c % 3 == 0,
    lambda r, c: (r + c) % 3 == 0,
    lambda r, c: (r // 2 + c // 3) % 2 == 0,
    lambda r, c: r * c % 2 + r * c % 3 == 0,
    lambda r, c: (r * c % 2 + r * c % 3) % 2 == 0,
    lambda r, c: ((r + c) % 2 + r * c % 3) % 2 == 0,
)


def draw_qr(text: str) -> Code:
    """Raises ValueError for more than 134 bytes."""
    grid = squares(text)
    size = len(grid) + 2 * QUIET
    rows = (
        f"M{column + QUIET} {row + QUIET}h1v1h-1z"
        for row, line in enumerate(grid)
        for column, dark in enumerate(line)
        if dark
    )
    return Code(size, "".join(rows))


def squares(text: str) -> list[list[bool]]:
    """The code, dark squares as True, in the mask that is easiest to read."""
    content = text.encode()
    version = next((one for one, room in enumerate(_DATA, 1) if len(content) <= room - 2), None)
    if version is None:
        raise ValueError(f"{len(content)} bytes are too many for a QR code of ours")
    bits = [bool(byte >> place & 1) for byte in _codewords(content, version) for place in range(7, -1, -1)]
    return min((_masked(version, bits, mask) for mask in range(8)), key=_penalty)


def _masked(version: int, bits: list[bool], mask: int) -> list[list[bool]]:
    grid = _Grid(version)
    for place, (row, column) in enumerate(grid.data_places()):
        bit = place < len(bits) and bits[place]
        grid.dark[row][column] = bit != _MASKS[mask](row, column)
    grid.format(mask)
    return grid.dark


def _codewords(content: bytes, version: int) -> bytes:
    """Mode, length, content and padding, in blocks that are interleaved, each with its error correction."""
    room, blocks = _DATA[version - 1], _BLOCKS[version - 1]
    number = int.from_bytes(content) | 0b0100 << (8 * len(content) + 8) | len(content) << (8 * len(content))
    data = (number << 4).to_bytes(len(content) + 2)
    data += (b"\xec\x11" * room)[: room - len(data)]
    each = room // blocks
    parts = [data[place : place + each] for place in range(0, room, each)]
    checks = [_remainder(part, _CHECK[version - 1]) for part in parts]
    mixed = list(zip(*parts, strict=True)) + list(zip(*checks, strict=True))
    return bytes(byte for column in mixed for byte in column)


def _times(one: int, other: int) -> int:
    """Multiplication in the field of 256 elements."""
    product = 0
    for place in range(7, -1, -1):
        product = (product << 1) ^ ((product >> 7) * 0x11D)
        product ^= (other >> place & 1) * one
    return product


def _remainder(data: bytes, degree: int) -> bytes:
    """Reed-Solomon."""
    divisor = [0] * (degree - 1) + [1]
    root = 1
    for _ in range(degree):
        for place in range(degree):
            divisor[place] = _times(divisor[place], root) ^ (divisor[place + 1] if place + 1 < degree else 0)
        root = _times(root, 2)
    rest = [0] * degree
    for byte in data:
        factor = byte ^ rest.pop(0)
        rest.append(0)
        rest = [old ^ _times(each, factor) for old, each in zip(rest, divisor, strict=True)]
    return bytes(rest)


def _penalty(grid: list[list[bool]]) -> int:
    """How hard a code is to read: long runs, blocks of one color, and too much of one."""
    size = len(grid)
    lines = [*grid, *(list(column) for column in zip(*grid, strict=True))]
    runs = 0
    for line in lines:
        length = 1
        for before, after in itertools.pairwise(line):
            length = length + 1 if before == after else 1
            runs += 3 if length == 5 else 1 if length > 5 else 0
    blocks = sum(
        3
        for row in range(size - 1)
        for column in range(size - 1)
        if grid[row][column] == grid[row][column + 1] == grid[row + 1][column] == grid[row + 1][column + 1]
    )
    dark = sum(map(sum, grid))
    return runs + blocks + 10 * int(abs(20 * dark / (size * size) - 10))
