"""``python -m dpframe``: the same as the command ``dpframe``."""

from dpframe.cli.main import main

raise SystemExit(main())
