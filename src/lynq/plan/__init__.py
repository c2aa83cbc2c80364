"""Plans: the operator's own controllers against dry runs of the API server.

`DryRun` turns every write of a client into a dry run and remembers its result, so that the next
read shows it. The controllers that `lynq run` runs are the ones that plan: a second implementation
would differ from the first.
"""
