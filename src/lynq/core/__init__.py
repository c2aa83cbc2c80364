"""The pure core: desired and observed state in, writes and a status out.

No module here opens a socket or reads a clock. Time is an argument. The controllers, the webhooks
and `lynq plan` call the same functions.
"""
