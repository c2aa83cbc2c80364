"""Push channels: a change in the database triggers a read; see docs/how-to/push.md."""
