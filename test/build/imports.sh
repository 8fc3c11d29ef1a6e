#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Every name that the plugin leaves undefined is there in the installed slurmctld or in a library
# that comes with it: a missing one would show when the plugin is loaded, or worse, when called.
# shellcheck source=test/build/common.sh
. "${srcdir:?}/build/common.sh"

if [ -z "$SLURMCTLD" ] || [ -z "$SLURM_LIBRARY" ]; then
	skip "no slurmctld or libslurmfull.so is installed to check against"
	finish imports
fi

# The libraries that the module itself names, as the loader finds them.
libraries() {
	ldd "$1" | awk '$2 == "=>" && $3 ~ "^/" { print $3 } $1 ~ "^/" { print $1 }'
}

for module in $modules; do
	name=$(basename "$module")
	# shellcheck disable=SC2046 # one word a library
	defined_symbols "$SLURMCTLD" "$SLURM_LIBRARY" $(libraries "$module") \
		$(libraries "$SLURMCTLD") >"$work/there"
	# Weak ones may be missing.
	nm -D --undefined-only "$module" | awk '$1 == "U" { sub(/@.*/, "", $2); print $2 }' |
		sort -u >"$work/used"
	comm -23 "$work/used" "$work/there" >"$work/missing"
	if [ -s "$work/missing" ]; then
		c++filt <"$work/missing"
		bad "$name uses $(wc -l <"$work/missing") names that nothing installed has"
	else
		ok "$name: all $(wc -l <"$work/used") undefined names are there"
	fi
done
finish imports
