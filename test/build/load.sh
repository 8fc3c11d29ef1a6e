#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The plugin loads into the installed slurmctld with every name bound at once.  The daemon is
# started for "-V" alone, with the module preloaded, so no configuration and no service is needed.
# shellcheck source=test/build/common.sh
. "${srcdir:?}/build/common.sh"

if [ -z "$SLURMCTLD" ]; then
	skip "no slurmctld is installed to load into"
	finish load
fi

# The loader looks at names only when they are bound: a library that lacks one must fail here, or
# this test proves nothing.
echo 'extern int foresight_no_such_name(void); int call(void) { return foresight_no_such_name(); }' >"$work/bad.c"
${CC:-cc} -shared -fPIC -Wl,-z,lazy -o "$work/bad.so" "$work/bad.c" || exit 99
if LD_BIND_NOW=1 LD_PRELOAD="$work/bad.so" "$SLURMCTLD" -V >"$work/out" 2>&1; then
	bad "a library with a missing name loads all the same"
else
	ok "a library with a missing name does not load"
fi

for module in $modules; do
	name=$(basename "$module")
	if LD_BIND_NOW=1 LD_PRELOAD="$module" "$SLURMCTLD" -V >"$work/out" 2>&1 &&
		! grep -q "cannot be preloaded" "$work/out"; then
		ok "$name loads into $(cat "$work/out")"
	else
		cat "$work/out"
		bad "$name does not load into $SLURMCTLD"
	fi
	if readelf -d "$module" | grep -q 'FLAGS.*\(NOW\|BIND_NOW\)'; then
		ok "$name asks to be bound at once"
	else
		bad "$name is bound lazily: a missing function would end slurmctld when it is called"
	fi
done
finish load
