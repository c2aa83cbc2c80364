"""ignoreFields: fields that other managers own, and whose live values are kept.

>>> path = parse_path("$.spec.replicas")
>>> keep_live({"spec": {"replicas": 1}}, {"spec": {"replicas": 5}}, [path])
{'spec': {'replicas': 5}}
"""
