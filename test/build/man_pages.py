#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The manual pages are clean and true: no warnings from man, the options that the command knows.

    man_pages.py           a test
    man_pages.py --write   writes the options into foresight.conf.5

The command is $FORESIGHT, the source tree $abs_top_srcdir (make check sets both).
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

PAGES = pathlib.Path(os.environ["abs_top_srcdir"]) / "contrib" / "man"
COMMAND = os.environ["FORESIGHT"]
BLOCK = re.compile(r'(\.\\" options: (\d)[^\n]*\n).*?(\.\\" end of options\n)', re.DOTALL)


def roff(text):
    return re.sub(r"(^|\n)([.'])", r"\1\\&\2", text.replace("\\", "\\e").replace("-", "\\-"))


def options(group):
    lines = []
    for option in group["options"]:
        # How times and sizes are written stands above, once.
        kind = re.sub(r" \((minutes, mm:ss|MiB, or)[^)]*\)", "", option["type"])
        default = f"; default {option['default']}" if option["default"] else ""
        lines += [".TP", f".BI {roff(option['key'])}= {'VALUE'}",
                  roff(f"{kind[0].upper()}{kind[1:]}{default}."), roff(option["help"])]
    return "\n".join(lines) + "\n"


def written():
    groups = json.loads(subprocess.run([COMMAND, "check", "--options", "--json"], check=True,
                                       capture_output=True, text=True).stdout)
    page = (PAGES / "foresight.conf.5").read_text(encoding="utf-8")
    return page, BLOCK.sub(lambda m: m[1] + options(groups[int(m[2])]) + m[3], page)


def verbs_and_flags():
    """Every verb and long option of the command's help stands in foresight.1."""
    page = (PAGES / "foresight.1").read_text(encoding="utf-8").replace("\\-", "-")
    text = subprocess.run([COMMAND, "--help"], check=True, capture_output=True, text=True).stdout
    verbs = re.findall(r"^  ([a-z]+) ", text[text.index("Subcommands:"):], re.MULTILINE)
    wanted = {f"foresight {verb}" for verb in verbs}
    for verb in verbs:
        text = subprocess.run([COMMAND, verb, "--help"], check=True, capture_output=True,
                              text=True).stdout
        wanted |= set(re.findall(r"(--[a-z-]+)", text)) - {"--help"}
    return sorted(name for name in wanted if name not in page)


def main(arguments):
    page, new = written()
    if arguments == ["--write"]:
        (PAGES / "foresight.conf.5").write_text(new, encoding="utf-8")
        return 0
    passed = failed = skipped = 0
    missing = verbs_and_flags()
    for problem in ["foresight.conf.5: its options are not the command's (man_pages.py --write)"
                    if page != new else None,
                    f"foresight.1 lacks {', '.join(missing)}" if missing else None]:
        passed += problem is None
        failed += problem is not None
        if problem:
            print(f"FAIL {problem}")
    for name in ("foresight.1", "foresight.conf.5"):
        if shutil.which("man") is None:
            print(f"SKIP {name}: there is no man to format it")
            skipped += 1
            continue
        told = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z",
                               str(PAGES / name)], capture_output=True, text=True, check=False,
                              env={**os.environ, "LC_ALL": "C.UTF-8", "MANWIDTH": "80"})
        failed += bool(told.stderr or told.returncode)
        passed += not (told.stderr or told.returncode)
        if told.stderr or told.returncode:
            print(f"FAIL {name}: {told.stderr}")
    print(f"man_pages: {passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
