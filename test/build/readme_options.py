#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The table of foresight.conf in README.md is what the command knows.

    readme_options.py           a test: exit status 1 and the difference when it is not
    readme_options.py --write   writes the table into README.md

The command is $FORESIGHT, the source tree $abs_top_srcdir (make check sets both).
"""

import difflib
import json
import os
import pathlib
import re
import subprocess
import sys

BEGIN = "<!-- options: written by test/build/readme_options.py --write -->\n"
END = "<!-- end of options -->\n"


def cell(text):
    return text.replace("|", "\\|") if text else "–"


def table(command):
    """The options as Markdown, a table for each kind of line."""
    groups = json.loads(subprocess.run([command, "check", "--options", "--json"], check=True,
                                       capture_output=True, text=True).stdout)
    lines = []
    for group in groups:
        lines += ["", group["title"] + ":", "", "| key | value | default | meaning |", "|---|---|---|---|"]
        for option in group["options"]:
            # How a time or a size is written stands once, below.
            kind = re.sub(r" \((minutes, mm:ss|MiB, or)[^)]*\)", "", option["type"])
            lines.append("| `%s` | %s | %s | %s |" % (
                option["key"], cell(kind), cell(option["default"]), cell(option["help"])))
    lines += ["", "A time is minutes, mm:ss, hh:mm:ss or days-hours[:mm[:ss]]; a size is MiB, or has K, M, G or T.",
              ""]
    return "\n".join(lines) + "\n"


def main():
    here = pathlib.Path(__file__).resolve().parents[2]
    readme = pathlib.Path(os.environ.get("abs_top_srcdir") or here) / "README.md"
    text = readme.read_text()
    before, _, rest = text.partition(BEGIN)
    old, _, after = rest.partition(END)
    new = table(os.environ.get("FORESIGHT", "foresight"))
    if sys.argv[1:] == ["--write"]:
        readme.write_text(before + BEGIN + new + END + after)
        return 0
    if old == new:
        print("ok   README.md lists the options that the command knows")
        print("readme: 1 passed, 0 failed, 0 skipped")
        return 0
    sys.stdout.writelines(difflib.unified_diff(old.splitlines(True), new.splitlines(True),
                                               "README.md", "foresight check --options"))
    print("FAIL README.md lists other options: run test/build/readme_options.py --write")
    print("readme: 0 passed, 1 failed, 0 skipped")
    return 1


if __name__ == "__main__":
    sys.exit(main())
