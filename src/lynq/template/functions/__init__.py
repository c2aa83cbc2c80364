"""The functions that templates can call, one module a family."""
