#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The plugin exports the names of plugin/plugin.sym and no other: a name more could meet one of
# slurmctld's, a name less and Slurm does not take it for a plugin.
# shellcheck source=test/build/common.sh
. "${srcdir:?}/build/common.sh"

sort -u "$abs_top_srcdir/plugin/plugin.sym" >"$work/wanted"
for module in $modules; do
	name=$(basename "$module")
	defined_symbols "$module" >"$work/exported"
	if diff "$work/wanted" "$work/exported" >"$work/diff"; then
		ok "$name exports what plugin.sym lists"
	else
		cat "$work/diff"
		bad "$name exports other names than plugin.sym lists (< missing, > too many)"
	fi

	# Unique symbols would keep the library loaded after dlclose.
	if readelf -W --dyn-syms "$module" | grep -w UNIQUE; then
		bad "$name has unique symbols"
	else
		ok "$name has no unique symbols"
	fi
done
finish exports
