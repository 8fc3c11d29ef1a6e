# SPDX-License-Identifier: GPL-2.0-or-later
"""A strict reader of OpenMetrics text, for what the plugin publishes."""

import re

from bench import expect

SUFFIXES = {"counter": ("_total",), "gauge": ("",), "info": ("_info",), "stateset": ("",)}
SAMPLE = re.compile(r'([a-zA-Z_:][\w:]*)(\{(?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\["\\n])*",?)*\})? '
                    r"([-+]?(?:[\d.]+(?:[eE][-+]?\d+)?|Inf|NaN))$")


def parse_openmetrics(text):
    """{name with labels: value}; Failure where the text breaks the format's rules."""
    expect(text.endswith("\n# EOF\n"), f"ends with # EOF, not {text[-40:]!r}")
    samples, family, kind, seen = {}, None, None, set()
    for number, line in enumerate(text.splitlines()[:-1], 1):
        where = f"line {number}: {line!r}"
        if line.startswith("# TYPE "):
            _, _, family, kind = line.split(" ")
            expect(kind in SUFFIXES, f"{where}: type")
            expect(family not in seen, f"{where}: a family twice")
            seen.add(family)
        elif line.startswith(("# HELP ", "# UNIT ")):
            expect(line.split(" ")[2] == family, f"{where}: belongs to {family}")
            if line.startswith("# UNIT"):
                expect(family.endswith("_" + line.split(" ")[3]), f"{where}: unit ends the name")
        else:
            match = SAMPLE.match(line)
            expect(match, f"{where}: a sample")
            name, labels, value = match.groups()
            expect(any(name == family + suffix for suffix in SUFFIXES[kind]),
                   f"{where}: of family {family}, a {kind}")
            key = name + (labels or "")
            expect(key not in samples, f"{where}: twice")
            samples[key] = float(value)
            if kind == "counter":
                expect(samples[key] >= 0, f"{where}: a counter below 0")
    return samples
