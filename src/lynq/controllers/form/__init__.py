"""The form controller."""
