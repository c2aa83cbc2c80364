"""`python -m lynq` is `lynq`."""

from lynq.cli import main

if __name__ == "__main__":
    main()
