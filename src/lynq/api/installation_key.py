"""The key of an installation: 32 secret bytes that seed random values and sign nodes.

A uid is no secret, because every object shows the uid of its owner. What must not be computable by
readers of objects is therefore derived from a key that only the operator has.
"""

import hmac
from dataclasses import dataclass
from typing import Final, TypeAlias

KEY_SIZE: Final = 32
"""Bytes of a key."""


@dataclass(frozen=True, slots=True, repr=False)
class InstallationKey:
    """The key of this installation. It has no representation: logs must not contain it."""

    secret: bytes

    def __post_init__(self) -> None:
        """Reject a key of another size: a truncated Secret must not weaken all values."""
        if len(self.secret) != KEY_SIZE:
            raise ValueError(f"an installation key has {KEY_SIZE} bytes")

    def derive(self, purpose: str, *parts: str | bytes) -> bytes:
        """Return 32 bytes for a purpose and its parts; other inputs give independent bytes."""
        message = b"".join(map(_with_length, (purpose, *parts)))
        return hmac.digest(self.secret, message, "sha256")


@dataclass(frozen=True, slots=True)
class MissingKey:
    """The key is unknown or lost: nodes of hubs wait, since no signature can be checked."""

    problem: str
    """Why there is no key, and what to do about it."""


@dataclass(frozen=True, slots=True)
class Keyless:
    """The installation never had a key, which only the loader can state: no node is signed."""

    problem: str
    """Why there is no key, and what to do about it."""


KeyState: TypeAlias = InstallationKey | MissingKey | Keyless

NO_KEY: Final = MissingKey("the installation key is not loaded yet")


def _with_length(part: str | bytes) -> bytes:
    data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
    return len(data).to_bytes(8, "big") + data
