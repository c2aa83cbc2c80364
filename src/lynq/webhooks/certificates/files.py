"""A certificate that somebody else keeps: files that are read again when they change."""

import ssl
from dataclasses import dataclass

from lynq.telemetry import CertificateFiles
from lynq.telemetry.certificates import server_context


@dataclass(frozen=True, slots=True)
class FileCertificates:
    """The certificate in two files; whose authority is trusted is for others to say."""

    files: CertificateFiles
    problem: str = ""

    async def run(self) -> None:
        """Do nothing: files are looked at with every handshake."""

    async def context(self) -> ssl.SSLContext:
        """Return what shows the files; raises CertificateError if they cannot be used."""
        return server_context(self.files)
