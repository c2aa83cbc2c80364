"""Renewal of the webhook certificates: in time, and always issued by a trusted CA."""

from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509

from lynq.tls.certificates import KeyPair, is_issued_by, server_names
from lynq.webhooks.certificates.ca import CertificateState, Lifetimes, renew
from lynq.webhooks.certificates.secret import _decode, _encode

START = datetime(2026, 1, 1, tzinfo=UTC)
NAMES = ("web.prod.svc", "localhost", "127.0.0.1", "::1")
DAY = timedelta(days=1)
DEFAULT = Lifetimes()


def trusted(bundle: bytes) -> list[x509.Certificate]:
    return x509.load_pem_x509_certificates(bundle)


def is_trusted(pair: KeyPair, bundle: bytes) -> bool:
    return any(is_issued_by(ca, pair.certificate) for ca in trusted(bundle))


def test_first_state_has_a_ca_and_a_certificate_for_all_names() -> None:
    state = renew(None, NAMES, DEFAULT, START)
    assert server_names(state.serving.certificate) == set(NAMES)
    assert state.serving.expires_at == START + 90 * DAY
    assert state.ca.expires_at == START + 3650 * DAY
    assert is_trusted(state.serving, state.bundle)


def test_serving_certificate_is_renewed_after_two_thirds_of_its_life() -> None:
    state = renew(None, NAMES, DEFAULT, START)
    assert renew(state, NAMES, DEFAULT, START + 59 * DAY) is state
    later = renew(state, NAMES, DEFAULT, START + 60 * DAY)
    assert later.serving.expires_at == START + 150 * DAY
    assert later.ca == state.ca
    assert later.bundle == state.bundle


def test_other_names_renew_the_serving_certificate() -> None:
    state = renew(None, NAMES, DEFAULT, START)
    moved = renew(state, ("other.prod.svc",), DEFAULT, START)
    assert server_names(moved.serving.certificate) == {"other.prod.svc"}
    assert moved.ca == state.ca


def test_expired_ca_is_replaced_at_once() -> None:
    state = renew(None, NAMES, DEFAULT, START)
    late = renew(state, NAMES, DEFAULT, START + 3650 * DAY)
    assert late.ca != state.ca
    assert is_trusted(late.serving, late.bundle)


def test_next_ca_is_trusted_before_it_issues() -> None:
    state = renew(None, NAMES, DEFAULT, START)
    before = START + 3560 * DAY
    waiting = renew(state, NAMES, DEFAULT, before)
    assert waiting.next_ca is not None
    assert len(trusted(waiting.bundle)) == 2
    assert is_issued_by(state.ca.certificate, waiting.serving.certificate)
    assert renew(waiting, NAMES, DEFAULT, before + DAY / 2) is waiting
    after = renew(waiting, NAMES, DEFAULT, before + DAY)
    assert after.ca == waiting.next_ca
    assert is_issued_by(after.ca.certificate, after.serving.certificate)
    assert set(trusted(after.bundle)) == set(trusted(waiting.bundle))
    last = renew(after, NAMES, DEFAULT, state.ca.expires_at)
    assert trusted(last.bundle) == [after.ca.certificate]


@pytest.mark.parametrize("step", [DAY / 2, 7 * DAY])
def test_serving_certificates_of_years_are_valid_and_already_trusted(
    step: timedelta,
) -> None:
    # Steps longer than the overlap are a suspended process: even then no certificate expires.
    lifetimes = Lifetimes(ca=365 * DAY, serving=90 * DAY)
    state: CertificateState | None = None
    now, cas = START, set()
    while now < START + timedelta(days=1200):
        before = state
        state = renew(before, NAMES, lifetimes, now)
        if before:
            assert is_trusted(state.serving, before.bundle)
            assert is_trusted(before.serving, state.bundle)
        assert now < state.serving.expires_at <= state.ca.expires_at
        assert all(ca.not_valid_after_utc > now for ca in trusted(state.bundle))
        assert len(trusted(state.bundle)) <= 3
        cas.add(state.ca.certificate)
        now += step
    assert len(cas) >= 4


def test_secret_round_trip_keeps_the_state() -> None:
    first = renew(None, NAMES, DEFAULT, START)
    waiting = renew(first, NAMES, DEFAULT, START + 3560 * DAY)
    done = renew(waiting, NAMES, DEFAULT, START + 3561 * DAY)
    for state in (first, waiting, done):
        read = _decode(_encode(state))
        assert read is not None
        assert (_encode(read), read.bundle) == (_encode(state), state.bundle)
        assert renew(read, NAMES, DEFAULT, state.serving.issued_at) is read


@pytest.mark.parametrize("key", ["ca.crt", "ca.key", "tls.crt", "tls.key"])
@pytest.mark.parametrize("content", [None, b"", b"garbage"])
def test_unusable_secret_is_ignored(key: str, content: bytes | None) -> None:
    data = _encode(renew(None, NAMES, DEFAULT, START))
    if content is None:
        del data[key]
    else:
        data[key] = content
    assert _decode(data) is None


def test_secret_with_a_key_that_does_not_match_is_ignored() -> None:
    one, other = (_encode(renew(None, NAMES, DEFAULT, START)) for _ in range(2))
    assert _decode({**one, "tls.key": other["tls.key"]}) is None


def test_repr_hides_private_keys() -> None:
    state = renew(None, NAMES, DEFAULT, START)
    assert isinstance(state, CertificateState)
    assert "PrivateKey" not in repr(state)
