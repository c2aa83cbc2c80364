"""Makes Python functions of parsed templates."""
