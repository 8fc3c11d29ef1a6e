#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A test that fails is seen: by the harness's count and exit status, and by test/tally.
# shellcheck source=test/build/common.sh disable=SC2015
. "${srcdir:?}/build/common.sh"

# has TEXT FILE NAME: FILE has the line TEXT.
has() {
	if grep -q -x -- "$1" "$2"; then
		ok "$3"
	else
		cat "$2"
		bad "$3"
	fi
}

fails=$abs_top_builddir/test/build/harness_fails
if [ -x "$fails" ]; then
	TEST_SEED=7 "$fails" >"$work/out" 2>&1
	status=$?
	[ $status -eq 1 ] && ok "exit status 1" || bad "exit status is $status, not 1"
	has "fails: 1 passed, 6 failed, 1 skipped" "$work/out" "six ways to fail are counted"
	has "     seed: TEST_SEED=7 repeats it" "$work/out" "the seed is printed"
	has "SKIP is skipped: on purpose" "$work/out" "the reason of a skip is printed"
	"$fails" skipped >"$work/out" 2>&1
	status=$?
	[ $status -eq 77 ] && ok "exit status 77 when all is skipped" || bad "exit status is $status, not 77"
	"$fails" passes >"$work/out" 2>&1 && ok "a case can be picked" || bad "a case cannot be picked"
else
	skip "built without CUnit"
fi

# A build's results: one passes, one fails by count, one dies, one is skipped, one does not count.
tally=$abs_top_srcdir/test/tally
mkdir "$work/build"
# trs NAME RESULT OUTPUT
trs() {
	echo ":test-result: $2" >"$work/build/$1.trs"
	printf '%s\n' "$3" >"$work/build/$1.log"
}
trs a PASS "a: 3 passed, 0 failed, 0 skipped"
trs b FAIL "b: 2 passed, 1 failed, 0 skipped"
trs c FAIL "Segmentation fault"
trs d SKIP "no such tool"
trs e FAIL "e: 4 passed, 0 failed, 0 skipped"
"$tally" build some "$work/build" 2 >"$work/counts"
"$tally" log script "$work/build/a.log" 0 >>"$work/counts"
"$tally" total "$work/counts" >"$work/out" && bad "a failed test is not seen" || ok "a failed test is seen"
has "12 passed, 3 failed, 1 skipped" "$work/out" "counts are added up"

rm "$work"/build/[b-e].*
"$tally" build compile "$work/build" 2 >"$work/counts"
"$tally" total "$work/counts" >"$work/out" && bad "a failed make is not seen" || ok "a failed make is seen"
"$tally" log script "$work/build/none" 0 >"$work/counts"
"$tally" total "$work/counts" >"$work/out" && bad "no output is not seen" || ok "no output is seen"
"$tally" build fine "$work/build" 0 >"$work/counts"
"$tally" total "$work/counts" >"$work/out" && ok "all well is exit status 0" || bad "all well is a failure"
finish harness-fails
