"""Tests of the dashboard's HTTP server."""
