"""Readiness of Kubernetes objects by kind, with the reason when an object is not ready.

>>> claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "status": {"phase": "Pending"}}
>>> evaluate_readiness(claim).message
'claim is Pending'
"""
