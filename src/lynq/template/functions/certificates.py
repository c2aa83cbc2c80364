"""Certificates: authorities, and certificates signed by one of them or by themselves.

The modules of cryptography are imported by the first call, as in `lynq.template.functions.crypto`.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from lynq.template.certificate_requests import Request, server_request
from lynq.template.environment import Context
from lynq.template.errors import FunctionError
from lynq.template.functions.encoding import decode_base64
from lynq.template.functions.signature import Needs, function
from lynq.template.values import GoType, Kind, Object, from_bytes, to_bytes

if TYPE_CHECKING:
    from cryptography import x509

    from lynq.template.certificates import PrivateKey

_NEEDS: Final = Needs.CLOCK | Needs.ENTROPY | Needs.SLOW
_RESULT: Final = "(sprig.certificate, error)"
_RSA_BITS: Final = 2048


@dataclass(frozen=True, slots=True)
class Certificate(Object):
    """A certificate and its key, both in PEM."""

    cert: str
    key: str
    go_type: ClassVar = GoType("sprig.certificate", Kind.STRUCT)

    def fields(self) -> dict[str, object]:
        """Return the exported fields, `Cert` and `Key`."""
        return {"Cert": self.cert, "Key": self.key}


@function("buildCustomCert", f"func(string, string) {_RESULT}")
def build_custom_cert(encoded_certificate: str, encoded_key: str) -> Certificate:
    """Check a certificate and a key, both encoded in base64."""
    from lynq.template.private_keys import read_certificate  # noqa: PLC0415 - see above

    certificate = _decode(encoded_certificate, "certificate")
    key = _decode(encoded_key, "private key")
    read_certificate(certificate, "decodedCert")
    _read_key(key, "error parsing private key")
    return Certificate(certificate, key)


@function("genCA", f"func(string, int) {_RESULT}", needs=_NEEDS)
def gen_ca(context: Context, name: str, days: int) -> Certificate:
    """Generate a certificate authority."""
    return _sign_itself(context, Request(name=name, days=days, authority=True), _new_key())


@function("genCAWithKey", f"func(string, int, string) {_RESULT}", needs=_NEEDS)
def gen_ca_with_key(context: Context, name: str, days: int, key: str) -> Certificate:
    """Generate a certificate authority for an existing key."""
    private = _read_key(key, "parsing private key")
    return _sign_itself(context, Request(name=name, days=days, authority=True), private)


@function(
    "genSelfSignedCert",
    f"func(string, []interface{{}}, []interface{{}}, int) {_RESULT}",
    needs=_NEEDS,
)
def gen_self_signed_cert(
    context: Context, name: str, addresses: list[object], hosts: list[object], days: int
) -> Certificate:
    """Generate a self-signed certificate."""
    return _sign_itself(context, server_request(name, addresses, hosts, days), _new_key())


@function(
    "genSelfSignedCertWithKey",
    f"func(string, []interface{{}}, []interface{{}}, int, string) {_RESULT}",
    needs=_NEEDS,
)
def gen_self_signed_cert_with_key(  # noqa: PLR0917 - the order is sprig's
    context: Context, name: str, addresses: list[object], hosts: list[object], days: int, key: str
) -> Certificate:
    """Generate a self-signed certificate for an existing key."""
    private = _read_key(key, "parsing private key")
    return _sign_itself(context, server_request(name, addresses, hosts, days), private)


@function(
    "genSignedCert",
    f"func(string, []interface{{}}, []interface{{}}, int, sprig.certificate) {_RESULT}",
    needs=_NEEDS,
)
def gen_signed_cert(  # noqa: PLR0917 - the order is sprig's
    context: Context,
    name: str,
    addresses: list[object],
    hosts: list[object],
    days: int,
    authority: Certificate,
) -> Certificate:
    """Generate a certificate signed by an authority."""
    parent, signer = _read_authority(authority)
    request = server_request(name, addresses, hosts, days)
    return _sign(context, request, _new_key(), signer, parent)


@function(
    "genSignedCertWithKey",
    f"func(string, []interface{{}}, []interface{{}}, int, sprig.certificate, string) {_RESULT}",
    needs=_NEEDS,
)
def gen_signed_cert_with_key(  # noqa: PLR0917 - the order is sprig's
    context: Context,
    name: str,
    addresses: list[object],
    hosts: list[object],
    days: int,
    authority: Certificate,
    key: str,
) -> Certificate:
    """Generate a certificate for an existing key, signed by an authority."""
    private = _read_key(key, "parsing private key")
    parent, signer = _read_authority(authority)
    request = server_request(name, addresses, hosts, days)
    return _sign(context, request, private, signer, parent)


def _new_key() -> "PrivateKey":
    from lynq.template.private_keys import make_rsa_key  # noqa: PLC0415 - see above

    return make_rsa_key(_RSA_BITS)


def _sign_itself(context: Context, request: Request, key: "PrivateKey") -> Certificate:
    return _sign(context, request, key, key, None)


def _sign(
    context: Context,
    request: Request,
    key: "PrivateKey",
    signer: "PrivateKey",
    parent: "x509.Certificate | None",
) -> Certificate:
    from lynq.template.certificates import issue  # noqa: PLC0415 - see above
    from lynq.template.private_keys import write_key  # noqa: PLC0415 - see above

    return Certificate(issue(request, key, signer, parent, context.now), write_key(key))


def _decode(encoded: str, what: str) -> str:
    try:
        return from_bytes(decode_base64(to_bytes(encoded)))
    except FunctionError:
        raise FunctionError(f"unable to decode base64 {what}") from None


def _read_key(text: str, step: str) -> "PrivateKey":
    from lynq.template.private_keys import read_key  # noqa: PLC0415 - see above

    try:
        return read_key(text)
    except FunctionError as problem:
        raise FunctionError(f"{step}: {problem.message}") from None


def _read_authority(authority: Certificate) -> "tuple[x509.Certificate, PrivateKey]":
    from lynq.template.private_keys import read_certificate  # noqa: PLC0415 - see above

    parent = read_certificate(authority.cert, "decodedSignerCert")
    return parent, _read_key(authority.key, "error parsing private key")
