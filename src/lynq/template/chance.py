"""A repeatable source of randomness: the same seed gives the same passwords, for ever."""

from __future__ import annotations

import hashlib
from itertools import count


class SeededRandom:
    """A stream of bytes that only the seed decides; nobody without the seed can tell the next one.

    The seed is a secret of the node. `derive` makes an independent source for a part of it, so that
    editing one field of a resource does not change what another one drew.
    """

    __slots__ = ("_blocks", "_given", "_left", "_seed")

    def __init__(self, seed: bytes) -> None:
        self._given = seed
        self._seed = hashlib.sha256(seed).digest()
        self._blocks = count()
        self._left = b""

    def derive(self, *parts: str) -> SeededRandom:
        """Give the source for one position, such as a resource id and a field's path."""
        lengths = "".join(f"{len(part)}:{part}" for part in parts)
        return SeededRandom(self._seed + lengths.encode("utf-8", "surrogatepass"))

    def again(self) -> SeededRandom:
        """Give the same source from its beginning."""
        return SeededRandom(self._given)

    def bytes(self, size: int) -> bytes:
        """Draw `size` bytes."""
        pieces = [self._left]
        have = len(self._left)
        while have < size:
            block = hashlib.sha256(self._seed + next(self._blocks).to_bytes(8, "big")).digest()
            pieces.append(block)
            have += len(block)
        drawn = b"".join(pieces)
        self._left = drawn[size:]
        return drawn[:size]

    def below(self, bound: int) -> int:
        """Draw an integer from 0 to `bound` - 1, each equally likely."""
        size = (bound.bit_length() + 7) // 8 + 1
        fair = (1 << 8 * size) // bound * bound
        while True:
            drawn = int.from_bytes(self.bytes(size), "big")
            if drawn < fair:
                return drawn % bound
