"""Generated values are masked."""

from lynq.core.preview.generated import GENERATED, masked_body


def test_only_values_of_generating_functions_are_masked() -> None:
    template = {
        "data": {"key": '{{ genPrivateKey "rsa" }}', "name": "{{ .uid }}", "plain": "x"},
        "items": ["{{ bcrypt .uid }}", "{{ randAlphaNum 8 }}", 1],
    }
    rendered = {
        "data": {"key": "PEM", "name": "acme", "plain": "x"},
        "items": ["hash", "random", 1],
        "added": True,
    }
    assert masked_body(template, rendered) == {
        "data": {"key": GENERATED, "name": "acme", "plain": "x"},
        "items": [GENERATED, GENERATED, 1],
        "added": True,
    }
