"""The words everything else speaks; data, never behaviour with effects."""
