"""The dependency graph of a form's or node's resources: what is written, and deleted, when.

    >>> entries = [Entry("web", ("db",)), Entry("db"), Entry("cache")]
    >>> build(entries).waves
    (('db', 'cache'), ('web',))

Everything here is linear in resources and dependencies, loops instead of recursing, and answers
the same for the same input: whatever has no other order keeps the canonical one.
"""
