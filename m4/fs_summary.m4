# SPDX-License-Identifier: GPL-2.0-or-later
#
# SYNOPSIS
#   FS_SUMMARY
#
# DESCRIPTION
#   Says at the end of configure what will be built and what is left out, and why.
#
AC_DEFUN([FS_SUMMARY], [
  AS_IF([test -n "$SLURM_SOURCE"],
    [fs_plugin="for Slurm $SLURM_VERSION"],
    [fs_plugin="left out (give --with-slurm-source=DIR)"])
  AS_IF([test "$slurm_config" = own], [fs_config="our own config.h"], [fs_config="$slurm_config"])
  AS_IF([test "$have_cunit" = yes], [fs_tests=yes], [fs_tests="left out (Debian package: libcunit1-dev)"])
  AS_ECHO(["
  $PACKAGE_NAME $PACKAGE_VERSION
    command            foresight in $bindir
    plugin             $fs_plugin"])
  AS_IF([test -n "$SLURM_SOURCE"], [AS_ECHO(["    Slurm headers      $SLURM_SOURCE, $fs_config
    checked against    ${SLURMCTLD:-no slurmctld found}
    sched_foresight    ${SLURM_PLUGINDIR:-not installed (give --with-slurm-plugindir=DIR)}
    drop-in            $libdir/$PACKAGE_NAME"])])
  AS_ECHO(["    unit tests         $fs_tests
    sanitizers         $enable_sanitizers
"])
])
