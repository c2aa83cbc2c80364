"""Semantic versions: read, and compared with constraints."""

from lynq.template.functions.signature import function
from lynq.template.semver import Version, parse_version
from lynq.template.semver_constraints import parse_constraints, satisfies


@function("semver", "func(string) (*semver.Version, error)")
def semver(text: str) -> Version:
    """Parse a version."""
    return parse_version(text)


@function("semverCompare", "func(string, string) (bool, error)")
def semver_compare(constraint: str, text: str) -> bool:
    """Report whether a version satisfies a constraint."""
    alternatives = parse_constraints(constraint)
    return satisfies(alternatives, parse_version(text))
