# SPDX-License-Identifier: GPL-2.0-or-later
#
# SYNOPSIS
#   FS_SUMMARY
#
# DESCRIPTION
#   Says at the end of configure what will be built and what is left out, and why.  Silent with
#   --quiet.
#
AC_DEFUN([FS_SUMMARY], [
  AS_IF([test "x$silent" != xyes], [
    # bindir and libdir are written in terms of each other, and of a prefix not set yet.
    fs_bindir=`test "x$prefix" != xNONE || prefix=$ac_default_prefix
               test "x$exec_prefix" != xNONE || exec_prefix=$prefix
               eval eval echo "$bindir"`
    fs_libdir=`test "x$prefix" != xNONE || prefix=$ac_default_prefix
               test "x$exec_prefix" != xNONE || exec_prefix=$prefix
               eval eval echo "$libdir"`
    AS_IF([test -n "$SLURM_SOURCE"],
      [fs_plugin="for Slurm $SLURM_VERSION"],
      [fs_plugin="left out (give --with-slurm-source=DIR)"])
    AS_IF([test "$slurm_config" = own],
      [fs_config="our own config.h"], [fs_config="config.h of $slurm_config"])
    AS_IF([test "$have_cunit" = yes],
      [fs_tests=yes], [fs_tests="left out (Debian package: libcunit1-dev)"])
    AS_IF([test "$have_cbc" = yes],
      [fs_exact="with COIN-OR CBC"],
      [AS_IF([test "x$with_cbc" = xno], [fs_exact="left out (--without-cbc)"],
        [fs_exact="left out (Debian package: coinor-libcbc-dev)"])])
    AS_ECHO(["
  $PACKAGE_NAME $PACKAGE_VERSION
    command            foresight in $fs_bindir
    its exact mode     $fs_exact
    plugin             $fs_plugin"])
    AS_IF([test -n "$SLURM_SOURCE"], [AS_ECHO(["    headers            $SLURM_SOURCE, $fs_config
    checked against    ${SLURMCTLD:-nothing: no slurmctld found}
    drop-in            sched_backfill.so in $fs_libdir/$PACKAGE_NAME
    plugin of its own  sched_foresight.so in ${SLURM_PLUGINDIR:-nowhere (give --with-slurm-plugindir=DIR)}"])])
    AS_ECHO(["    unit tests         $fs_tests
    sanitizers         $enable_sanitizers
"])
  ])
])
