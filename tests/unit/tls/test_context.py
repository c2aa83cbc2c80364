"""SSL contexts from PEM in memory."""

import ssl
import tempfile
from pathlib import Path

import pytest

from certificates import Authority
from lynq.tls.context import CertificateError, client_context, load_key_pair

CA = Authority()


def test_client_key_is_never_written_to_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    pair = CA.sign("jane")
    load_key_pair(client_context(None), pair.certificate, pair.key)
    descriptors = Path("/proc/self/fd").iterdir()
    targets = [str(path.readlink()) for path in descriptors if path.is_symlink()]
    assert not any("lynq-tls" in target for target in targets)


def test_key_of_another_certificate_is_rejected() -> None:
    context = client_context(None)
    with pytest.raises(CertificateError, match="do not match"):
        load_key_pair(context, CA.sign("a").certificate, CA.sign("b").key)


def test_ca_that_is_not_pem_is_rejected() -> None:
    with pytest.raises(CertificateError, match="not a PEM certificate"):
        client_context("CA")


def test_client_context_accepts_a_ca_without_strict_extensions() -> None:
    context = client_context(CA.certificate.decode())
    assert not context.verify_flags & ssl.VERIFY_X509_STRICT
    assert len(context.get_ca_certs()) == 1
