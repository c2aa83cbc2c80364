"""What is kept of certificates, and what has to become of it at a given time. Pure.

An authority signs for years, and must never be replaced in one step: the API server would refuse
what it does not trust yet. So a successor is made first and only trusted; it signs once the overlap
has passed, and the old one stays trusted until its end.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from lynq.webhooks.certificates.ca import KeyPair, has_signed, make_ca, names_in, sign


@dataclass(frozen=True, slots=True, kw_only=True)
class Lifetimes:
    """How long things are valid."""

    authority: timedelta = timedelta(days=3650)
    serving: timedelta = timedelta(days=90)
    """Renewed after two thirds of it."""
    overlap: timedelta = timedelta(days=1)
    """How long a new authority is trusted before it signs."""


@dataclass(frozen=True, slots=True)
class CertificateState:
    """All that replicas share."""

    authority: KeyPair
    """The one that signs."""
    serving: KeyPair
    """What the server shows."""
    upcoming: KeyPair | None = None
    """The authority that will sign next."""
    retired: tuple[x509.Certificate, ...] = ()
    """Authorities that have signed before."""

    @property
    def bundle(self) -> bytes:
        """All authorities to trust, the one that signs first."""
        upcoming = (self.upcoming.certificate,) if self.upcoming else ()
        trusted = (self.authority.certificate, *upcoming, *self.retired)
        return b"".join(each.public_bytes(Encoding.PEM) for each in trusted)

    @property
    def chain(self) -> bytes:
        """What the server needs: its certificate and key."""
        return self.serving.certificate_pem + self.serving.key_pem


def renew(
    kept: CertificateState | None, names: Iterable[str], lifetimes: Lifetimes, now: datetime
) -> CertificateState:
    """Return what should be kept from now on; the same object if nothing is due."""
    wanted = tuple(names)
    if kept is None or kept.authority.end <= now:
        return _made_anew(wanted, lifetimes, now)
    kept = _with_successor(kept, lifetimes, now)
    kept = _succeeded(kept, lifetimes, now)
    kept = _signed(kept, wanted, lifetimes, now)
    return _without_expired(kept, now)


def _made_anew(names: tuple[str, ...], lifetimes: Lifetimes, now: datetime) -> CertificateState:
    authority = make_ca(now, now + lifetimes.authority)
    return CertificateState(authority, _sign(authority, names, lifetimes, now))


def _with_successor(
    kept: CertificateState, lifetimes: Lifetimes, now: datetime
) -> CertificateState:
    """Make a successor while a whole life of a certificate, and the overlap, are still ahead."""
    if kept.upcoming or kept.authority.end - now > lifetimes.serving + lifetimes.overlap:
        return kept
    return replace(kept, upcoming=make_ca(now, now + lifetimes.authority))


def _succeeded(kept: CertificateState, lifetimes: Lifetimes, now: datetime) -> CertificateState:
    if kept.upcoming is None or now < kept.upcoming.made + lifetimes.overlap:
        return kept
    retired = (kept.authority.certificate, *kept.retired)
    return CertificateState(kept.upcoming, kept.serving, retired=retired)


def _signed(
    kept: CertificateState, names: tuple[str, ...], lifetimes: Lifetimes, now: datetime
) -> CertificateState:
    serving = kept.serving
    due = serving.made + (serving.end - serving.made) * 2 / 3
    if (
        now < due
        and names_in(serving.certificate) == set(names)
        and has_signed(kept.authority.certificate, serving.certificate)
    ):
        return kept
    return replace(kept, serving=_sign(kept.authority, names, lifetimes, now))


def _sign(
    authority: KeyPair, names: tuple[str, ...], lifetimes: Lifetimes, now: datetime
) -> KeyPair:
    return sign(authority, names, now, min(now + lifetimes.serving, authority.end))


def _without_expired(kept: CertificateState, now: datetime) -> CertificateState:
    valid = tuple(each for each in kept.retired if each.not_valid_after_utc > now)
    return kept if valid == kept.retired else replace(kept, retired=valid)
