"""TLS contexts: made from texts, with nothing left on a disk."""

import ssl
from pathlib import Path

import pytest

from certificates import Authority
from lynq.api import TlsMode
from lynq.sources import TLS
from lynq.sources.errors import InvalidSettings
from lynq.sources.network import tls_context

AUTHORITY = Authority()
PAIR = AUTHORITY.sign("client")
OTHER = AUTHORITY.sign("other")


def test_disabled_tls_has_no_context() -> None:
    assert tls_context(TLS(mode=TlsMode.DISABLE)) is None


@pytest.mark.parametrize(
    ("mode", "verify", "name"),
    [
        (TlsMode.PREFER, ssl.CERT_NONE, False),
        (TlsMode.REQUIRE, ssl.CERT_NONE, False),
        (TlsMode.VERIFY_CA, ssl.CERT_REQUIRED, False),
        (TlsMode.VERIFY_FULL, ssl.CERT_REQUIRED, True),
    ],
)
def test_mode_sets_verification_and_host_name_check(
    mode: TlsMode, verify: ssl.VerifyMode, *, name: bool
) -> None:
    context = tls_context(TLS(mode=mode, ca=AUTHORITY.certificate.decode()))
    assert context
    assert context.verify_mode is verify
    assert context.check_hostname is name
    assert len(context.get_ca_certs()) == 1


def test_authorities_of_the_machine_are_the_default() -> None:
    context = tls_context(TLS())
    assert context
    assert context.verify_mode is ssl.CERT_REQUIRED


def test_client_certificate_leaves_no_open_file() -> None:
    made = TLS(certificate=PAIR.certificate.decode(), key=PAIR.key.decode())
    assert tls_context(made)
    held = [path.readlink() for path in Path("/proc/self/fd").iterdir() if path.is_symlink()]
    assert not any("lynq-tls" in str(target) for target in held)


@pytest.mark.parametrize(
    ("tls", "field"),
    [
        (TLS(ca="no certificate"), "tls.caRef"),
        (TLS(certificate=PAIR.certificate.decode()), "tls.keyRef"),
        (TLS(key=PAIR.key.decode()), "tls.keyRef"),
        (TLS(certificate="nonsense", key="nonsense"), "tls.keyRef"),
        (TLS(certificate=PAIR.certificate.decode(), key=OTHER.key.decode()), "tls.keyRef"),
    ],
)
def test_invalid_certificate_is_rejected_with_its_field(tls: TLS, field: str) -> None:
    with pytest.raises(InvalidSettings) as caught:
        tls_context(tls)
    assert caught.value.field == field
    assert "PRIVATE" not in str(caught.value)


def test_repr_hides_the_key() -> None:
    assert "PRIVATE KEY" not in repr(TLS(key=PAIR.key.decode()))
