"""Certificates and keys differ per run, so these tests check their fields and their chains."""

import base64
import datetime as dt
import ipaddress
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed25519, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID

from lynq.template import Environment, Limits, SeededRandom, TemplateError, render

NOW = dt.datetime(2009, 11, 10, 23, tzinfo=dt.UTC)
# RSA keys take long on slow machines, and these tests do not test the deadline.
ENVIRONMENT = Environment(
    now=int(NOW.timestamp()) * 1_000_000_000, random=SeededRandom(b"x"), limits=Limits(seconds=60)
)
PARTS = '{{ define "parts" }}{{ .Cert }}|{{ .Key }}{{ end }}'


def made(source: str, **data: object) -> list[tuple[x509.Certificate, Any]]:
    """Render certificates separated by |, as PARTS does, and read them back."""
    texts = render(PARTS + source, data, ENVIRONMENT).split("|")
    certificates = [x509.load_pem_x509_certificate(text.encode()) for text in texts[::2]]
    keys = [serialization.load_pem_private_key(text.encode(), None) for text in texts[1::2]]
    return list(zip(certificates, keys, strict=True))


def key_usage(certificate: x509.Certificate) -> x509.KeyUsage:
    return certificate.extensions.get_extension_for_class(x509.KeyUsage).value


def test_authority_can_sign_and_is_valid_for_its_days() -> None:
    [(authority, key)] = made('{{ template "parts" genCA "Acme CA" 30 }}')

    assert authority.subject.rfc4514_string() == "CN=Acme CA"
    assert authority.issuer == authority.subject
    assert authority.not_valid_before_utc == NOW
    assert authority.not_valid_after_utc == NOW + dt.timedelta(days=30)
    constraints = authority.extensions.get_extension_for_class(x509.BasicConstraints)
    assert (constraints.critical, constraints.value.ca) == (True, True)
    assert key_usage(authority).key_cert_sign
    assert authority.public_key() == key.public_key()
    assert key.key_size == 2048
    authority.verify_directly_issued_by(authority)


def test_signed_certificate_chains_to_its_authority() -> None:
    source = """{{ $ca := genCA "Acme CA" 30 }}{{ template "parts" $ca }}|\
{{ $ips := list "10.0.0.1" "::1" }}{{ $names := list "app.svc" "*.app" }}\
{{ template "parts" genSignedCert "app" $ips $names 10 $ca }}"""

    (authority, _), (certificate, key) = made(source)

    certificate.verify_directly_issued_by(authority)
    assert certificate.public_key() == key.public_key()
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["app.svc", "*.app"]
    addresses = [ipaddress.ip_address("10.0.0.1"), ipaddress.ip_address("::1")]
    assert names.get_values_for_type(x509.IPAddress) == addresses
    usage = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(usage) == [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
    assert not key_usage(certificate).key_cert_sign
    theirs = authority.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    ours = certificate.extensions.get_extension_for_class(x509.AuthorityKeyIdentifier).value
    assert ours.key_identifier == theirs.digest


def test_self_signed_certificate_uses_an_existing_key() -> None:
    source = """{{ $key := genPrivateKey "ecdsa" }}\
{{ template "parts" genSelfSignedCertWithKey "app" nil nil 1 $key }}"""

    [(certificate, key)] = made(source)

    assert isinstance(key, ec.EllipticCurvePrivateKey)
    certificate.verify_directly_issued_by(certificate)


@pytest.mark.parametrize(
    ("days", "length"), [(-5, dt.timedelta(days=-5)), (0, dt.timedelta()), (9, dt.timedelta(9))]
)
def test_validity_days_can_be_negative_as_in_go(days: int, length: dt.timedelta) -> None:
    source = '{{ template "parts" genCAWithKey "x" .days (genPrivateKey "ed25519") }}'

    [(certificate, _)] = made(source, days=days)

    assert certificate.not_valid_after_utc - certificate.not_valid_before_utc == length


@pytest.mark.filterwarnings("ignore:Attribute's length")
def test_common_name_can_be_empty_or_long() -> None:
    for name in ("", "n" * 100, "ünïcode"):
        source = '{{ template "parts" genCAWithKey .name 1 (genPrivateKey "ed25519") }}'

        [(certificate, _)] = made(source, name=name)

        found = [attribute.value for attribute in certificate.subject]
        assert found == ([name] if name else [])


@pytest.mark.parametrize(
    ("kind", "header", "expected"),
    [
        ("", "-----BEGIN RSA PRIVATE KEY-----", rsa.RSAPrivateKey),
        ("ecdsa", "-----BEGIN EC PRIVATE KEY-----", ec.EllipticCurvePrivateKey),
        ("ed25519", "-----BEGIN PRIVATE KEY-----", ed25519.Ed25519PrivateKey),
        ("dsa", "-----BEGIN DSA PRIVATE KEY-----", dsa.DSAPrivateKey),
    ],
)
def test_generated_key_has_gos_pem_encoding(kind: str, header: str, expected: type) -> None:
    text = render("{{ genPrivateKey .kind }}", {"kind": kind}, ENVIRONMENT)

    assert text.splitlines()[0] == header
    assert isinstance(serialization.load_pem_private_key(text.encode(), None), expected)


def test_custom_certificate_is_checked_and_returned() -> None:
    source = '{{ with genCA "x" 1 }}{{ .Cert }}|{{ .Key }}{{ end }}'
    certificate, key = render(source, {}, ENVIRONMENT).split("|")
    encoded = {
        "cert": base64.b64encode(certificate.encode()).decode(),
        "key": base64.b64encode(key.encode()).decode(),
    }

    again = "{{ with buildCustomCert .cert .key }}{{ .Cert }}|{{ .Key }}{{ end }}"

    assert render(again, encoded, ENVIRONMENT) == f"{certificate}|{key}"


def test_key_of_another_authority_fails() -> None:
    source = """{{ $one := genCA "one" 1 }}{{ $two := genCA "two" 1 }}\
{{ $mixed := buildCustomCert ($one.Cert | b64enc) ($two.Key | b64enc) }}\
{{ genSignedCert "x" nil nil 1 $mixed }}"""

    with pytest.raises(TemplateError, match="doesn't match parent's PublicKey"):
        render(source, {}, ENVIRONMENT)


def test_dsa_key_cannot_sign() -> None:
    with pytest.raises(TemplateError, match=r"does not implement crypto\.Signer"):
        render('{{ genCAWithKey "x" 1 (genPrivateKey "dsa") }}', {}, ENVIRONMENT)
