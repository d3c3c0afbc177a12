"""Hold your own parts to our promises."""

from context_chef.testing.backends import StorageBackendSuite

__all__ = ["StorageBackendSuite"]
