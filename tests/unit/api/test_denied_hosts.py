"""Hosts that no source may connect to."""

from ipaddress import IPv4Address, IPv6Address

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
        "64:ff9b::a9fe:a9fe",
        "64:ff9b::169.254.169.254",
        "64:ff9b:1::a9fe:a9fe",
        "2002:a9fe:a9fe::",
        "2002:a9fe:a9fe::1",
    ],
)
def test_link_local_addresses_are_always_denied(host: str) -> None:
    assert "link-local, which --deny-source-hosts always denies" in NONE_DENIED.problem(host)


@pytest.mark.parametrize(
    "host",
    [
        "fd00:ec2::254",
        "fd00:ec2:0:0:0:0:0:17",
        "fd20:ce::254",
        "fd00:c1::a9fe:a9fe",
        "100.100.100.200",
        "::ffff:100.100.100.200",
        "168.63.129.16",
        "64:ff9b::a83f:8110",
        "2002:6464:64c8::",
    ],
)
def test_metadata_services_are_always_denied(host: str) -> None:
    assert "metadata service, which --deny-source-hosts always denies" in NONE_DENIED.problem(host)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "0.0.0.0", "::", "localhost"])
def test_loopback_is_allowed_unless_it_is_listed(host: str) -> None:
    assert NONE_DENIED.problem(host) == ""
    assert DeniedHosts.parse("127.0.0.0/8,::1,localhost").problem(host)


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
    "host",
    [
        "192.0.2.8",
        "11.0.0.1",
        "100.100.100.201",
        "168.63.129.17",
        "fd00:ec3::1",
        "64:ff9b::b00:1",
        "2002:b00:1::",
        "db.example.com",
        "internal",
        "notinternal",
        "::1",
    ],
)
def test_other_hosts_are_not_denied(host: str) -> None:
    assert DENIED.problem(host) == ""


@given(st.ip_addresses(v=4, network="10.0.0.0/8"))
def test_every_address_of_a_network_is_denied_in_every_form(address: IPv4Address) -> None:
    assert DENIED.problem(str(address))
    assert DENIED.problem(f"::ffff:{address}")
    assert DENIED.problem(f"64:ff9b::{address}")
    assert DENIED.problem(str(IPv6Address((0x2002 << 112) | (int(address) << 80))))


@given(st.ip_addresses(v=6))
def test_networks_of_the_flag_hold_for_every_ipv6_address_in_them(address: IPv6Address) -> None:
    assert DeniedHosts.parse(f"{address}/128").problem(str(address))


@pytest.mark.parametrize("text", ["10.0.0.0/33", "a*b", "*.*.com", "http://db", "*"])
def test_invalid_entries_are_rejected(text: str) -> None:
    with pytest.raises(ValueError, match="no network, address, host name"):
        DeniedHosts.parse(text)
