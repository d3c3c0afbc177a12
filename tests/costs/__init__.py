"""The cache and cost model."""
