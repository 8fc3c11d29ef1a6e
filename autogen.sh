#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Makes configure and the Makefile.in files after a fresh clone.
set -e
cd "$(dirname "$0")"
mkdir -p build-aux
exec autoreconf --install --warnings=all,no-obsolete,no-portability "$@"
