"""`python -m dg_sglang` is the console script `dg-sglang`."""

from dg_sglang.cli import main

if __name__ == "__main__":
    main()
