"""Certificates through the years: renewed in time, and never one that nobody trusts yet."""

from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509

from lynq.webhooks.certificates.ca import (
    CertificateState,
    KeyPair,
    Lifetimes,
    has_signed,
    names_in,
    renew,
)
from lynq.webhooks.certificates.secret import _data, _state_of

START = datetime(2026, 1, 1, tzinfo=UTC)
NAMES = ("web.prod.svc", "localhost", "127.0.0.1", "::1")
DAY = timedelta(days=1)
DEFAULT = Lifetimes()


def trusted(bundle: bytes) -> list[x509.Certificate]:
    return x509.load_pem_x509_certificates(bundle)


def is_trusted(pair: KeyPair, bundle: bytes) -> bool:
    return any(has_signed(each, pair.certificate) for each in trusted(bundle))


def test_the_first_is_made_of_nothing() -> None:
    kept = renew(None, NAMES, DEFAULT, START)
    assert names_in(kept.serving.certificate) == set(NAMES)
    assert kept.serving.end == START + 90 * DAY
    assert kept.authority.end == START + 3650 * DAY
    assert is_trusted(kept.serving, kept.bundle)


def test_nothing_is_due_for_two_thirds_of_its_life() -> None:
    kept = renew(None, NAMES, DEFAULT, START)
    assert renew(kept, NAMES, DEFAULT, START + 59 * DAY) is kept
    later = renew(kept, NAMES, DEFAULT, START + 60 * DAY)
    assert later.serving.end == START + 150 * DAY
    assert later.authority == kept.authority
    assert later.bundle == kept.bundle


def test_another_service_needs_another_certificate() -> None:
    kept = renew(None, NAMES, DEFAULT, START)
    moved = renew(kept, ("other.prod.svc",), DEFAULT, START)
    assert names_in(moved.serving.certificate) == {"other.prod.svc"}
    assert moved.authority == kept.authority


def test_an_authority_that_has_expired_is_replaced_at_once() -> None:
    kept = renew(None, NAMES, DEFAULT, START)
    late = renew(kept, NAMES, DEFAULT, START + 3650 * DAY)
    assert late.authority != kept.authority
    assert is_trusted(late.serving, late.bundle)


def test_a_successor_is_trusted_before_it_signs() -> None:
    kept = renew(None, NAMES, DEFAULT, START)
    before = START + 3560 * DAY
    waiting = renew(kept, NAMES, DEFAULT, before)
    assert waiting.upcoming is not None
    assert len(trusted(waiting.bundle)) == 2
    assert has_signed(kept.authority.certificate, waiting.serving.certificate)
    assert renew(waiting, NAMES, DEFAULT, before + DAY / 2) is waiting
    after = renew(waiting, NAMES, DEFAULT, before + DAY)
    assert after.authority == waiting.upcoming
    assert has_signed(after.authority.certificate, after.serving.certificate)
    assert set(trusted(after.bundle)) == set(trusted(waiting.bundle))
    last = renew(after, NAMES, DEFAULT, kept.authority.end)
    assert trusted(last.bundle) == [after.authority.certificate]


@pytest.mark.parametrize("step", [DAY / 2, 7 * DAY])
def test_through_the_years_all_that_is_shown_is_valid_and_was_trusted_before(
    step: timedelta,
) -> None:
    # Steps longer than the overlap are a process that sleeps: even then nothing expires.
    lifetimes = Lifetimes(authority=365 * DAY, serving=90 * DAY)
    kept: CertificateState | None = None
    now, authorities = START, set()
    while now < START + timedelta(days=1200):
        before = kept
        kept = renew(before, NAMES, lifetimes, now)
        if before:
            assert is_trusted(kept.serving, before.bundle)
            assert is_trusted(before.serving, kept.bundle)
        assert now < kept.serving.end <= kept.authority.end
        assert all(each.not_valid_after_utc > now for each in trusted(kept.bundle))
        assert len(trusted(kept.bundle)) <= 3
        authorities.add(kept.authority.certificate)
        now += step
    assert len(authorities) >= 4


def test_all_of_it_fits_into_the_secret_and_back() -> None:
    first = renew(None, NAMES, DEFAULT, START)
    waiting = renew(first, NAMES, DEFAULT, START + 3560 * DAY)
    done = renew(waiting, NAMES, DEFAULT, START + 3561 * DAY)
    for kept in (first, waiting, done):
        read = _state_of(_data(kept))
        assert read is not None
        assert (_data(read), read.bundle, read.chain) == (_data(kept), kept.bundle, kept.chain)
        assert renew(read, NAMES, DEFAULT, kept.serving.made) is read


@pytest.mark.parametrize("key", ["ca.crt", "ca.key", "tls.crt", "tls.key"])
@pytest.mark.parametrize("content", [None, b"", b"garbage"])
def test_a_secret_that_makes_no_sense_is_as_good_as_none(key: str, content: bytes | None) -> None:
    data = _data(renew(None, NAMES, DEFAULT, START))
    if content is None:
        del data[key]
    else:
        data[key] = content
    assert _state_of(data) is None


def test_a_key_of_another_certificate_is_noticed() -> None:
    one, other = (_data(renew(None, NAMES, DEFAULT, START)) for _ in range(2))
    assert _state_of({**one, "tls.key": other["tls.key"]}) is None


def test_keys_are_not_shown() -> None:
    kept = renew(None, NAMES, DEFAULT, START)
    assert isinstance(kept, CertificateState)
    assert "PrivateKey" not in repr(kept)
