"""The CA and the serving certificate of the webhooks: which renewal is due at a given time. Pure.

The API server rejects a server certificate whose CA is not in the caBundle yet, so a CA is never
replaced in one step. Its successor is created first and only added to the bundle. After the overlap
the successor issues the serving certificates, and the old CA stays in the bundle until it expires.
"""

import secrets
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from lynq.tls.certificates import (
    KeyPair,
    Validity,
    create_ca,
    is_issued_by,
    issue_server,
    server_names,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lifetimes:
    """How long certificates are valid."""

    ca: timedelta = timedelta(days=3650)
    serving: timedelta = timedelta(days=90)
    """Renewed after two thirds of it."""
    overlap: timedelta = timedelta(days=1)
    """How long a new CA is in the bundle before it issues certificates."""


@dataclass(frozen=True, slots=True)
class CertificateState:
    """The certificates that all replicas share."""

    ca: KeyPair
    """Issues the serving certificates."""
    serving: KeyPair
    """The certificate of the webhook server."""
    next_ca: KeyPair | None = None
    """Trusted, but does not issue certificates yet."""
    retired_cas: tuple[x509.Certificate, ...] = ()
    """Former CAs that have not expired."""

    @property
    def bundle(self) -> bytes:
        """All CAs to trust, the current one first."""
        next_ca = (self.next_ca.certificate,) if self.next_ca else ()
        trusted = (self.ca.certificate, *next_ca, *self.retired_cas)
        return b"".join(certificate.public_bytes(Encoding.PEM) for certificate in trusted)


def renew(
    state: CertificateState | None, names: Iterable[str], lifetimes: Lifetimes, now: datetime
) -> CertificateState:
    """Return the state with all renewals that are due; the same object if none is."""
    server = tuple(names)
    if state is None or state.ca.expires_at <= now:
        return _create(server, lifetimes, now)
    state = _with_next_ca(state, lifetimes, now)
    state = _with_promoted_ca(state, lifetimes, now)
    state = _with_serving(state, server, lifetimes, now)
    return _without_expired_cas(state, now)


def _create(names: tuple[str, ...], lifetimes: Lifetimes, now: datetime) -> CertificateState:
    ca = _create_ca(lifetimes, now)
    return CertificateState(ca, _issue(ca, names, lifetimes, now))


def _create_ca(lifetimes: Lifetimes, now: datetime) -> KeyPair:
    # Every CA has its own name: clients select a CA of the bundle by its name.
    name = f"lynq-webhooks-{secrets.token_hex(13)}"
    return create_ca(name, Validity(now, now + lifetimes.ca))


def _with_next_ca(state: CertificateState, lifetimes: Lifetimes, now: datetime) -> CertificateState:
    """Create the next CA while the current one outlives a serving certificate and the overlap."""
    if state.next_ca or state.ca.expires_at - now > lifetimes.serving + lifetimes.overlap:
        return state
    return replace(state, next_ca=_create_ca(lifetimes, now))


def _with_promoted_ca(
    state: CertificateState, lifetimes: Lifetimes, now: datetime
) -> CertificateState:
    if state.next_ca is None or now < state.next_ca.issued_at + lifetimes.overlap:
        return state
    retired = (state.ca.certificate, *state.retired_cas)
    return CertificateState(state.next_ca, state.serving, retired_cas=retired)


def _with_serving(
    state: CertificateState, names: tuple[str, ...], lifetimes: Lifetimes, now: datetime
) -> CertificateState:
    serving = state.serving
    due = serving.issued_at + (serving.expires_at - serving.issued_at) * 2 / 3
    if (
        now < due
        and server_names(serving.certificate) == set(names)
        and is_issued_by(state.ca.certificate, serving.certificate)
    ):
        return state
    return replace(state, serving=_issue(state.ca, names, lifetimes, now))


def _issue(ca: KeyPair, names: tuple[str, ...], lifetimes: Lifetimes, now: datetime) -> KeyPair:
    end = min(now + lifetimes.serving, ca.expires_at)
    return issue_server(ca, names, Validity(now, end))


def _without_expired_cas(state: CertificateState, now: datetime) -> CertificateState:
    valid = tuple(ca for ca in state.retired_cas if ca.not_valid_after_utc > now)
    return state if valid == state.retired_cas else replace(state, retired_cas=valid)
