"""Compiles parsed templates to Python functions."""
