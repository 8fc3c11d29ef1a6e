#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# configure stops with one line when it is given the wrong Slurm, and does without one.
# shellcheck source=test/build/common.sh
. "${srcdir:?}/build/common.sh"

if [ -f "$abs_top_srcdir/config.status" ]; then
	skip "built inside the source tree, where no second configure can run"
	finish configure
fi

# A source tree as far as configure looks at it, and a daemon that answers -V.
mkdir -p "$work/slurm/src/slurmctld" "$work/include/slurm" "$work/build"
: >"$work/slurm/src/slurmctld/slurmctld.h"
printf '  Meta:\t\t1\n  Version:\t22.05.9\n' >"$work/slurm/META"
echo '#define SLURM_VERSION_NUMBER 0x160508' >"$work/include/slurm/slurm_version.h"
for version in 22.05.8 22.05.9; do
	printf '#!/bin/sh\necho slurm %s\n' $version >"$work/slurmctld-$version"
	chmod +x "$work/slurmctld-$version"
done

# What of configure's answers is known already saves most of its time.
configure() {
	(cd "$work/build" && "$abs_top_srcdir/configure" --quiet --cache-file=../cache \
		--with-slurm-include="$work/include" "$@") >"$work/out" 2>&1
}

# refuses WHAT PATTERN OPTION…: it fails, with one line that matches.
refuses() {
	what=$1 pattern=$2
	shift 2
	if configure "$@"; then
		bad "$what: configure went on"
	elif [ "$(wc -l <"$work/out")" -ne 1 ] || ! grep -q "$pattern" "$work/out"; then
		cat "$work/out"
		bad "$what: configure did not say so in one line"
	else
		ok "$what: $(cat "$work/out")"
	fi
}

refuses "source and daemon differ" "is Slurm 22\.05\.9 but .* is Slurm 22\.05\.8" \
	--with-slurm-source="$work/slurm" --with-slurmctld="$work/slurmctld-22.05.8"
refuses "source and slurm_version.h differ" "is Slurm 22\.05\.9 but .* 0x160508" \
	--with-slurm-source="$work/slurm" --with-slurmctld="$work/slurmctld-22.05.9"
refuses "no source tree" "is not a Slurm source tree" --with-slurm-source="$work/include"
refuses "no configured tree" "is not a configured Slurm tree" \
	--with-slurm-source="$work/slurm" --with-slurm-build="$work/include" --with-slurmctld=no
refuses "an unknown sanitizer" "address or thread, not memory" --enable-sanitizers=memory

if configure --with-slurmctld=no; then
	ok "without a source tree configure goes on"
else
	cat "$work/out"
	bad "without a source tree configure fails"
fi
finish configure
