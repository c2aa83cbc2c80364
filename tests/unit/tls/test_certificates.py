"""Certificates of a CA, and self-signed ones."""

import ssl
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization

from lynq.tls.certificates import (
    KeyPair,
    Validity,
    create_ca,
    create_self_signed,
    is_issued_by,
    issue_client,
    issue_server,
    server_names,
)
from lynq.tls.context import client_context, load_key_pair

NOW = datetime(2026, 1, 1, tzinfo=UTC)
VALIDITY = Validity(NOW, NOW + timedelta(days=1))
NAMES = ("web.prod.svc", "127.0.0.1", "::1")


def test_server_certificate_has_names_and_ca() -> None:
    ca = create_ca("ca", VALIDITY)
    pair = issue_server(ca, NAMES, VALIDITY)
    assert server_names(pair.certificate) == set(NAMES)
    assert is_issued_by(ca.certificate, pair.certificate)
    assert not is_issued_by(create_ca("ca", VALIDITY).certificate, pair.certificate)


def test_validity_is_backdated_for_slow_clocks() -> None:
    pair = create_ca("ca", VALIDITY)
    assert pair.certificate.not_valid_before_utc == NOW - timedelta(hours=1)
    assert (pair.issued_at, pair.expires_at) == (VALIDITY.start, VALIDITY.end)


def test_client_certificate_has_user_and_group() -> None:
    pair = issue_client(create_ca("ca", VALIDITY), "admin", "system:masters", VALIDITY)
    assert pair.certificate.subject.rfc4514_string() == "O=system:masters,CN=admin"


def test_self_signed_certificate_has_names() -> None:
    pair = create_self_signed("lynq", ("localhost",), VALIDITY)
    assert server_names(pair.certificate) == {"localhost"}
    assert is_issued_by(pair.certificate, pair.certificate)


def test_long_name_is_truncated_in_the_subject_only() -> None:
    name = f"{'service-' * 8}long.prod.svc"
    pair = issue_server(create_ca("ca", VALIDITY), (name,), VALIDITY)
    assert pair.certificate.subject.rfc4514_string() == f"CN={name[:64]}"
    assert server_names(pair.certificate) == {name}


def test_pem_round_trip_rejects_another_key() -> None:
    first, second = (create_ca("ca", VALIDITY) for _ in range(2))
    assert KeyPair.from_pem(first.certificate_pem, first.key_pem).certificate == first.certificate
    with pytest.raises(ValueError, match="does not match"):
        KeyPair.from_pem(first.certificate_pem, second.key_pem)


def strict(context: ssl.SSLContext, trusted: x509.Certificate) -> ssl.SSLContext:
    """Return the context with OpenSSL's strict mode, as Python creates it since 3.13."""
    context.load_verify_locations(cadata=trusted.public_bytes(serialization.Encoding.PEM).decode())
    context.verify_mode = ssl.CERT_REQUIRED
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    return context


def shake_hands(client: ssl.SSLContext, server: ssl.SSLContext, name: str) -> None:
    """Do a handshake in memory; raises ssl.SSLError."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = (
        client.wrap_bio(to_client, to_server, server_hostname=name),
        server.wrap_bio(to_server, to_client, server_side=True),
    )
    for _ in range(4):
        for end in ends:
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue


def presenting(context: ssl.SSLContext, pair: KeyPair) -> ssl.SSLContext:
    load_key_pair(context, pair.certificate_pem, pair.key_pem)
    return context


TODAY = Validity(datetime.now(UTC), datetime.now(UTC) + timedelta(days=1))


def test_both_ends_accept_each_other_in_strict_mode() -> None:
    ca = create_ca("ca", TODAY)
    server = presenting(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), issue_server(ca, NAMES, TODAY))
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    presenting(client, issue_client(ca, "admin", "system:masters", TODAY))
    shake_hands(strict(client, ca.certificate), strict(server, ca.certificate), NAMES[0])


def test_self_signed_certificate_is_accepted_in_strict_mode() -> None:
    pair = create_self_signed("lynq", ("localhost",), TODAY)
    server = presenting(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), pair)
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    shake_hands(strict(client, pair.certificate), server, "localhost")


def test_stored_ca_without_key_identifier_goes_on() -> None:
    """A CA of an earlier version issues until its rotation; our clients accept its certificates."""
    ca = create_ca("ca", TODAY)
    certificate = ca.certificate
    builder = x509.CertificateBuilder(
        issuer_name=certificate.issuer,
        subject_name=certificate.subject,
        public_key=certificate.public_key(),
        serial_number=certificate.serial_number,
        not_valid_before=certificate.not_valid_before_utc,
        not_valid_after=certificate.not_valid_after_utc,
        extensions=[
            extension
            for extension in certificate.extensions
            if isinstance(extension.value, x509.BasicConstraints | x509.KeyUsage)
        ],
    )
    old = KeyPair(builder.sign(ca.key, hashes.SHA256()), ca.key)
    server = presenting(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), issue_server(old, NAMES, TODAY))
    shake_hands(client_context(old.certificate_pem.decode()), server, NAMES[0])
