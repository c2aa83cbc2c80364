"""Generates the reference pages of the documentation; `make reference` runs it."""
