"""Lynq turns database rows into running Kubernetes infrastructure."""
