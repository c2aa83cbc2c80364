"""Semantic versions and constraints on them, after Masterminds/semver 3.3."""
