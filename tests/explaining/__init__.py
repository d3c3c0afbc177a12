"""Requests taken apart."""
