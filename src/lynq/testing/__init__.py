"""Helpers for tests of forms: renders without a cluster, and a local cluster with an operator."""
