"""Opinions about hubs and forms that are valid: rules with a name and a reason."""
