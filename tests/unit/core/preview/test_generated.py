"""Values that differ in every render are masked."""

from lynq.core.preview.generated import GENERATED, masked_body


def test_only_values_of_generating_functions_are_masked() -> None:
    template = {
        "data": {"key": '{{ genPrivateKey "rsa" }}', "name": "{{ .uid }}", "plain": "x"},
        "items": ["{{ bcrypt .uid }}", 1],
    }
    rendered = {
        "data": {"key": "PEM", "name": "acme", "plain": "x"},
        "items": ["hash", 1],
        "added": True,
    }
    assert masked_body(template, rendered) == {
        "data": {"key": GENERATED, "name": "acme", "plain": "x"},
        "items": [GENERATED, 1],
        "added": True,
    }
