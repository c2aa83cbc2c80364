"""What the webhook server asks of its certificates."""

import ssl
from typing import Protocol


class Certificates(Protocol):
    """Has a certificate, sooner or later, and keeps it fresh."""

    @property
    def problem(self) -> str:
        """Why there is none yet; "" if there is."""

    async def run(self) -> None:
        """Do what it takes, until cancelled."""

    async def context(self) -> ssl.SSLContext:
        """Wait for the first certificate; the context follows all later ones."""
