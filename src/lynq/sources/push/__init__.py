"""Push channels: a change in the database wakes the hub; see docs/push.md."""
