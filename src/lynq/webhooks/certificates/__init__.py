"""The certificate of the webhook server: from files, or self-signed and rotated."""
