"""The webhooks' certificate: out of files, or made by ourselves and renewed in time."""
