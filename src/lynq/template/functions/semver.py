"""Semantic versions: read, and compared with constraints."""

from lynq.template.functions.signature import function
from lynq.template.semver import Version, parse_version


@function("semver", "func(string) (*semver.Version, error)")
def semver(text: str) -> Version:
    """Parse a version."""
    return parse_version(text)


@function("semverCompare", "func(string, string) (bool, error)")
def semver_compare(constraint: str, text: str) -> bool:
    """Report whether a version satisfies a constraint."""
    from lynq.template.semver_constraints import (  # noqa: PLC0415 - imports RE2
        parse_constraints,
        satisfies,
    )

    alternatives = parse_constraints(constraint)
    return satisfies(alternatives, parse_version(text))
