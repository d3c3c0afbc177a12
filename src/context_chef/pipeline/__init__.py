"""The compile: start → … → done."""
