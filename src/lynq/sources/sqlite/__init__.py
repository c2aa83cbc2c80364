"""SQLite, through the standard library, in a thread of its own."""
