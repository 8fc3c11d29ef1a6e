# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh disable=SC2034
#
# What the checks of the built plugin share: counting, and where things are.  Sourced.

passed=0 failed=0 skipped=0
: "${abs_top_srcdir:?run by make check}" "${abs_top_builddir:?run by make check}"
modules="$abs_top_builddir/plugin/.libs/sched_foresight.so $abs_top_builddir/plugin/.libs/sched_backfill.so"
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
trap 'exit 99' HUP INT TERM

ok() {
	passed=$((passed + 1))
	echo "ok   $1"
}
bad() {
	failed=$((failed + 1))
	echo "FAIL $1"
}
skip() {
	skipped=$((skipped + 1))
	echo "SKIP $1"
}

# The last line and the exit status that test/tally and automake want.
finish() {
	echo "$1: $passed passed, $failed failed, $skipped skipped"
	[ "$failed" -eq 0 ] || exit 1
	[ "$passed" -gt 0 ] || exit 77
	exit 0
}

# The names of a library's or program's dynamic symbols, without versions: defined_symbols FILE…
defined_symbols() {
	for file; do
		nm -D --defined-only "$file"
	done | awk '{ sub(/@.*/, "", $NF); print $NF }' | sort -u
}
