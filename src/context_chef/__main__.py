"""`python -m context_chef`: the command line without its script on the path."""

import sys

from context_chef.cli import main

if __name__ == "__main__":
    sys.exit(main())
