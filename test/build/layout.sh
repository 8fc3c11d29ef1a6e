#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The headers that we compile with and the installed daemon agree on the job record: the offset
# of job_id in the headers is the one that the daemon's find_job_record() compares with.
# shellcheck source=test/build/common.sh
. "${srcdir:?}/build/common.sh"

if [ -z "$SLURMCTLD" ]; then
	skip "no slurmctld is installed to check against"
	finish layout
fi
if [ "$(uname -m)" != x86_64 ]; then
	skip "the daemon's code is read on x86_64 alone, not on $(uname -m)"
	finish layout
fi

ours=$("$abs_top_builddir/test/build/layout_offset")
# The loop over the hash chain:  cmp %edi,0x168(%rax)
objdump -d --no-show-raw-insn --disassemble=find_job_record "$(readlink -f "$SLURMCTLD")" >"$work/code"
theirs=$(sed -n 's/.*cmp *%e[a-z0-9]*,0x\([0-9a-f]*\)(%r.*/\1/p' "$work/code" | sort -u)
case $theirs in
"" | *[!0-9a-f]*)
	cat "$work/code"
	bad "find_job_record of $SLURMCTLD compares in a way that this test does not know"
	;;
*)
	theirs=$((0x$theirs))
	if [ "$ours" -eq "$theirs" ]; then
		ok "job_id is at $ours in the headers and in $SLURMCTLD"
	else
		bad "job_id is at $ours in the headers but at $theirs in $SLURMCTLD"
	fi
	;;
esac
finish layout
