"""``python -m dpframe``: the same as the command ``dpframe``."""

from dpframe.cli import main

raise SystemExit(main())
