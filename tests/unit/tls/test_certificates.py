"""Certificates of a CA, and self-signed ones."""

from datetime import UTC, datetime, timedelta

import pytest

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
