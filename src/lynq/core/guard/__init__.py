"""What a mistake in the database must not do: row rejection and the deletion guard.

Pure: rows, names and settings in; nodes, rejections and verdicts out. docs/design/guard.md has
the decisions behind it.
"""
