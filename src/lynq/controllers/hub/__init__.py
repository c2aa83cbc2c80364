"""The hub's controller; docs/design/hub.md has the core it stands on."""
