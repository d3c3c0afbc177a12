"""Failures that users of other libraries reported: each one an input with its right outcome.

`field-cases.json` holds them; `TABLE.md` says which test stands for which case.
"""
