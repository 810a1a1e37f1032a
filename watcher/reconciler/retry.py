"""How a turn says that it failed."""


class TryAgain(Exception):
    """The work failed, status says why, and trying again later may help."""
