"""Let `python -m repro` be the same as the `repro` command."""

from repro.cli.main import main

if __name__ == "__main__":
    main()
