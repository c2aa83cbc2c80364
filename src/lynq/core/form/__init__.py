"""Forms: validation, status and events.

Pure: specs, counts and the current time in; problems, status and events out.
"""
