#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Unit tests of contrib/quickstart.d's pure parts: workload, figures, grid, picture, conf text.

Cases are the test_*.py files beside this one.  The last line is "quickstart: N passed, …".
"""

import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "contrib", "quickstart.d"))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True  # the source tree may be read-only


def main():
    suite = unittest.defaultTestLoader.discover(HERE, pattern="test_*.py")
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=1).run(suite)
    failed = len(result.failures) + len(result.errors)
    skipped = len(result.skipped)
    for test, _ in result.failures + result.errors:
        print(f"FAIL {test.id()}")
    for test, why in result.skipped:
        print(f"SKIP {test.id()}: {why}")
    passed = result.testsRun - failed - skipped
    print(f"quickstart: {passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not result.testsRun else 0


if __name__ == "__main__":
    sys.exit(main())
