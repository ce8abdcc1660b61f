"""MaskBench's schemas: how many compile, and whether their instances are judged right.

python tests/benchmarks/maskbench.py [--data FOLDER] [--closed] [--failures N]
"""

from suite import arguments, judge, report, rows


def main() -> None:
    options = arguments("MaskBench's schemas")
    found = (row for row in rows(options.data / "maskbench_dev.jsonl.gz") if options.only in row["name"])
    report(
        [judge(row["name"], row["schema"], row["tests"], open_world=not options.closed) for row in found],
        failures=options.failures,
    )


if __name__ == "__main__":
    main()
