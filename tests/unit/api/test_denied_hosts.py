"""Hosts that no source may connect to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lynq.api.denied_hosts import NONE_DENIED, DeniedHosts

DENIED = DeniedHosts.parse("10.0.0.0/8, 192.0.2.7,2001:db8::/32, Vault.example.com,*.internal")


@pytest.mark.parametrize(
    "host",
    [
        "169.254.169.254",
        "::ffff:169.254.169.254",
        "::ffff:a9fe:a9fe",
        "fe80::1",
        "fe80::1%eth0",
        "[fe80::1]",
    ],
)
def test_link_local_addresses_are_always_denied(host: str) -> None:
    assert "link-local, which --deny-source-hosts always denies" in NONE_DENIED.problem(host)


@pytest.mark.parametrize(
    "host",
    [
        "10.1.2.3",
        "::ffff:10.1.2.3",
        "192.0.2.7",
        "2001:db8::1",
        "vault.example.com",
        "VAULT.example.com.",
        "db.internal",
        "a.b.internal",
    ],
)
def test_listed_hosts_are_denied_by_the_flag(host: str) -> None:
    assert DENIED.problem(host).endswith("is denied by the operator's --deny-source-hosts")
    assert NONE_DENIED.problem(host) == ""


@pytest.mark.parametrize(
    "host", ["192.0.2.8", "11.0.0.1", "db.example.com", "internal", "notinternal", "::1"]
)
def test_other_hosts_are_not_denied(host: str) -> None:
    assert DENIED.problem(host) == ""


@given(st.ip_addresses(v=4, network="10.0.0.0/8"))
def test_every_address_of_a_network_is_denied_in_both_forms(address: object) -> None:
    assert DENIED.problem(str(address))
    assert DENIED.problem(f"::ffff:{address}")


@pytest.mark.parametrize("text", ["10.0.0.0/33", "a*b", "*.*.com", "http://db", "*"])
def test_invalid_entries_are_rejected(text: str) -> None:
    with pytest.raises(ValueError, match="no network, address, host name"):
        DeniedHosts.parse(text)
