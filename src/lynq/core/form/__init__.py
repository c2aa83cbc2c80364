"""The form's core: is it valid, and what does its status say.

Pure: specs, counts and the time in; problems, status and events out. docs/design/form.md has the
decisions behind it.
"""
