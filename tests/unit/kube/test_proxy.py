import pytest

from lynq.kube.errors import ConfigError
from lynq.kube.proxy import environment_proxy, validated_proxy

PROXY = "http://proxy:3128"


def proxied(server: str, no_proxy: str = "") -> bool:
    environment = {"HTTPS_PROXY": PROXY, "NO_PROXY": no_proxy}
    return environment_proxy(server, environment) == PROXY


def test_no_proxy_without_a_variable() -> None:
    assert environment_proxy("https://k8s", {}) is None
    assert environment_proxy("https://k8s", {"HTTP_PROXY": PROXY}) is None
    assert environment_proxy("http://k8s", {"http_proxy": PROXY}) == PROXY
    assert environment_proxy("https://k8s", {"https_proxy": "proxy:3128"}) == PROXY


@pytest.mark.parametrize(
    ("server", "no_proxy"),
    [
        ("https://localhost:6443", ""),
        ("https://127.0.0.1:6443", ""),
        ("https://[::1]:6443", ""),
        ("https://k8s", "*"),
        ("https://10.96.0.1:443", "10.96.0.0/12"),
        ("https://[fd00::1]", "other, fd00::/8"),
        ("https://10.96.0.1", "10.96.0.1"),
        ("https://10.96.0.1:6443", "10.96.0.1:6443"),
        ("https://[fd00::1]", "fd00::1"),
        ("https://[fd00::1]", "[fd00::1]"),
        ("https://k8s.example.com", "example.com"),
        ("https://k8s.example.com", ".example.com"),
        ("https://k8s.example.com", "*.example.com"),
        ("https://example.com", "Example.com"),
        ("https://example.com:6443", "example.com:6443"),
        ("https://example.com", "example.com:443"),
    ],
)
def test_no_proxy_entries_bypass_the_proxy(server: str, no_proxy: str) -> None:
    assert not proxied(server, no_proxy)


@pytest.mark.parametrize(
    ("server", "no_proxy"),
    [
        ("https://k8s", ""),
        ("https://k8s", " , other"),
        ("https://10.112.0.1", "10.96.0.0/12"),
        ("https://k8s", "10.96.0.0/12,nonsense/99"),
        ("https://notexample.com", "example.com"),
        ("https://example.com", ".example.com"),
        ("https://example.com:6443", "example.com:443"),
        ("https://10.0.0.2", "10.0.0.1"),
        ("https://10.0.0.1:6443", "10.0.0.1:443"),
    ],
)
def test_other_hosts_use_the_proxy(server: str, no_proxy: str) -> None:
    assert proxied(server, no_proxy)


def test_unsupported_proxy_is_rejected_without_its_password() -> None:
    with pytest.raises(ConfigError) as caught:
        validated_proxy("socks5://me:hunter2@proxy", "$HTTPS_PROXY")
    assert str(caught.value) == "$HTTPS_PROXY: only http:// and https:// proxies are supported"
