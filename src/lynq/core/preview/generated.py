"""Masks generated values: random values, keys, certificates and password hashes.

The random values of a preview are repeatable, but a password in a file looks like one in use.
"""

from typing import Any, Final

from lynq.template import Needs, called_functions

GENERATED: Final = "(generated)"
"""Stands for a generated value."""
_GENERATING: Final = Needs.RANDOM | Needs.ENTROPY


def masked_body(template: Any, rendered: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Return the rendered manifest; the values of such templates are replaced by `(generated)`."""
    if isinstance(template, str):
        is_generated = "{{" in template and called_functions(template, _GENERATING)
        return GENERATED if is_generated else rendered
    if isinstance(template, dict) and isinstance(rendered, dict):
        return {
            key: masked_body(template[key], value) if key in template else value
            for key, value in rendered.items()
        }
    if isinstance(template, list) and isinstance(rendered, list):
        return [masked_body(*pair) for pair in zip(template, rendered, strict=True)]
    return rendered
