"""`python -m context_chef.cli` is `context-chef`."""

from __future__ import annotations

import sys

from context_chef.cli import main

sys.exit(main())
