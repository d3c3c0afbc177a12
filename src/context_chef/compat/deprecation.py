"""The warning that comes with an old name."""


class RenamedWarning(UserWarning):
    """An old name was used. A `UserWarning`, so that people see it without flags."""
