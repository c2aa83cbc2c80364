"""Reads what explains the state of objects, for the command line and the dashboard.

Everything is read with the rights of the viewer: a read that is denied is reported, and the rest is
shown without it.
"""
