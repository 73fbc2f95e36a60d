"""`recollect`, as a program whose idle connections have a minute to bring a last request once a stop has begun."""

from __future__ import annotations

from recollect.cli import main
from recollect.server import connections

vars(connections)["LAST_SECONDS"] = 60.0  # in each of several processes, too: they read this file anew

if __name__ == "__main__":
    main()
