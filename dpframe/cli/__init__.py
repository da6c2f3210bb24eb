"""The command ``dpframe``."""
