"""Certificates and SSL contexts, for clients and servers alike."""
