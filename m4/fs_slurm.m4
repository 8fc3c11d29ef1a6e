# SPDX-License-Identifier: GPL-2.0-or-later
#
# Slurm's source tree, its configuration, the installed daemon, and that they belong together.
# The macros are meant to be called in the order in which they stand here.

# SYNOPSIS
#   FS_SLURM_SOURCE
# DESCRIPTION
#   --with-slurm-source=DIR: the tree whose internal headers and backfill code the plugin is
#   compiled with.  Without it the plugin is left out and everything else builds.
#   Sets SLURM_SOURCE (absolute) and slurm_source_version.
#
#   Conditional: HAVE_SLURM_SOURCE.
AC_DEFUN([FS_SLURM_SOURCE], [
  AC_ARG_WITH([slurm-source],
    [AS_HELP_STRING([--with-slurm-source=DIR],
      [Slurm's source tree, of the installed version; needed for the plugin])],
    [], [with_slurm_source=no])

  SLURM_SOURCE=
  slurm_source_version=
  AS_CASE([$with_slurm_source],
    [no], [],
    [yes|""], [AC_MSG_ERROR([--with-slurm-source needs a directory])],
    [
      AS_IF([test ! -f "$with_slurm_source/META" || test ! -f "$with_slurm_source/src/slurmctld/slurmctld.h"],
        [AC_MSG_ERROR([$with_slurm_source is not a Slurm source tree (no META or no src/slurmctld/slurmctld.h)])])
      SLURM_SOURCE=`cd "$with_slurm_source" && pwd`
      AC_MSG_CHECKING([for the version of Slurm's source tree])
      slurm_source_version=`$SED -n 's/^@<:@ 	@:>@*Version:@<:@ 	@:>@*//p' "$SLURM_SOURCE/META" | $SED 's/@<:@ 	@:>@*$//;s/-.*//;1q'`
      AC_MSG_RESULT([$slurm_source_version])
    ])
  AC_SUBST([SLURM_SOURCE])
  AM_CONDITIONAL([HAVE_SLURM_SOURCE], [test -n "$SLURM_SOURCE"])
])

# SYNOPSIS
#   FS_SLURM_CONFIG
# DESCRIPTION
#   Slurm's headers include "config.h" and "slurm/slurm_version.h", which its own configure
#   makes.  --with-slurm-build=DIR names a tree where that was done (the source tree itself is
#   looked at too).  Without one, make builds a config.h of the few macros that matter for the
#   headers and takes slurm_version.h from --with-slurm-include (libslurm-dev).
#   Sets SLURM_CPPFLAGS and, for the rule in plugin/Makefile.am, SLURM_VERSION_H; and
#   SLURM_BUILD_OPTION, which says it again to make distcheck.
#
#   Conditional: OWN_SLURM_CONFIG.
AC_DEFUN([FS_SLURM_CONFIG], [
  AC_ARG_WITH([slurm-build],
    [AS_HELP_STRING([--with-slurm-build=DIR],
      [a configured build tree of that source, for its config.h])],
    [], [with_slurm_build=no])
  AC_ARG_WITH([slurm-include],
    [AS_HELP_STRING([--with-slurm-include=DIR],
      [where slurm/slurm_version.h is installed @<:@/usr/include@:>@])],
    [], [with_slurm_include=/usr/include])

  SLURM_CPPFLAGS=
  SLURM_VERSION_H=
  SLURM_BUILD_OPTION=
  slurm_config=none
  AS_IF([test -n "$SLURM_SOURCE"], [
    AS_CASE([$with_slurm_build],
      [no], [
        AS_IF([test -f "$SLURM_SOURCE/config.h" && test -f "$SLURM_SOURCE/slurm/slurm_version.h"],
          [slurm_config="$SLURM_SOURCE"], [slurm_config=own])
      ],
      [yes|""], [AC_MSG_ERROR([--with-slurm-build needs a directory])],
      [
        AS_IF([test ! -f "$with_slurm_build/config.h" || test ! -f "$with_slurm_build/slurm/slurm_version.h"],
          [AC_MSG_ERROR([$with_slurm_build is not a configured Slurm tree (no config.h or no slurm/slurm_version.h)])])
        slurm_config=`cd "$with_slurm_build" && pwd`
        SLURM_BUILD_OPTION="--with-slurm-build='$slurm_config'"
      ])
    AS_IF([test "$slurm_config" = own], [
      SLURM_VERSION_H="$with_slurm_include/slurm/slurm_version.h"
      AS_IF([test ! -f "$SLURM_VERSION_H"],
        [AC_MSG_ERROR([no $SLURM_VERSION_H: install Debian's libslurm-dev, or give --with-slurm-build=DIR])])
      SLURM_CPPFLAGS='-isystem $(abs_top_builddir)/plugin/slurm-config'
    ], [
      SLURM_VERSION_H="$slurm_config/slurm/slurm_version.h"
      SLURM_CPPFLAGS="-isystem $slurm_config"
    ])
    SLURM_CPPFLAGS="$SLURM_CPPFLAGS -isystem $SLURM_SOURCE"
  ])
  # glibc 2.38 has strlcpy, and Slurm's own must not be declared beside it.
  AC_CHECK_FUNC([strlcpy], [SLURM_CONFIG_EXTRA=HAVE_STRLCPY], [SLURM_CONFIG_EXTRA=])
  AC_SUBST([SLURM_CONFIG_EXTRA])
  AM_CONDITIONAL([OWN_SLURM_CONFIG], [test "$slurm_config" = own])
  AC_SUBST([SLURM_CPPFLAGS])
  AC_SUBST([SLURM_VERSION_H])
  AC_SUBST([SLURM_BUILD_OPTION])
])

# SYNOPSIS
#   FS_SLURMCTLD
# DESCRIPTION
#   --with-slurmctld=PATH: the installed daemon that will load the plugin, looked for in PATH and
#   the sbin directories.  Sets SLURMCTLD (empty: none, its checks are skipped) and
#   slurmctld_version.
AC_DEFUN([FS_SLURMCTLD], [
  AC_ARG_WITH([slurmctld],
    [AS_HELP_STRING([--with-slurmctld=PATH], [the installed slurmctld @<:@found in PATH@:>@])],
    [], [with_slurmctld=yes])

  slurmctld_version=
  AS_CASE([$with_slurmctld],
    [no], [SLURMCTLD=],
    [yes|""], [AC_PATH_PROG([SLURMCTLD], [slurmctld], [],
      [$PATH$PATH_SEPARATOR/usr/sbin$PATH_SEPARATOR/usr/local/sbin$PATH_SEPARATOR/sbin])],
    [
      AS_IF([test ! -x "$with_slurmctld"], [AC_MSG_ERROR([$with_slurmctld is not a program])])
      SLURMCTLD="$with_slurmctld"
    ])
  AS_IF([test -n "$SLURMCTLD"], [
    AC_MSG_CHECKING([for the version of $SLURMCTLD])
    slurmctld_version=`"$SLURMCTLD" -V 2>/dev/null | $SED -n 's/^@<:@^ @:>@* \(@<:@0-9@:>@@<:@0-9.@:>@*\).*/\1/p;1q'`
    AS_IF([test -z "$slurmctld_version"], [AC_MSG_ERROR([$SLURMCTLD -V does not say a version])])
    AC_MSG_RESULT([$slurmctld_version])
  ])
  AC_SUBST([SLURMCTLD])
])

# SYNOPSIS
#   FS_SLURM_VERSION_MATCH
# DESCRIPTION
#   Stops unless source tree, slurm_version.h and daemon have one version: Slurm's record layouts
#   change between point releases.  Sets SLURM_VERSION.
AC_DEFUN([FS_SLURM_VERSION_MATCH], [
  SLURM_VERSION="$slurm_source_version"
  AS_IF([test -n "$SLURM_SOURCE"], [
    AS_IF([test -n "$slurmctld_version" && test "$slurmctld_version" != "$slurm_source_version"],
      [AC_MSG_ERROR([$SLURM_SOURCE is Slurm $slurm_source_version but $SLURMCTLD is Slurm $slurmctld_version: give the source of the installed version])])
    slurm_header_version=`$SED -n 's/^#define SLURM_VERSION_NUMBER 0x0*\(@<:@0-9a-fA-F@:>@*\).*/\1/p' "$SLURM_VERSION_H"`
    slurm_expected_version=`echo "$slurm_source_version" | (IFS=. read a b c; printf '%x%02x%02x' "${a#0}" "${b#0}" "${c#0}")`
    AS_IF([test "$slurm_header_version" != "$slurm_expected_version"],
      [AC_MSG_ERROR([$SLURM_SOURCE is Slurm $slurm_source_version but $SLURM_VERSION_H has SLURM_VERSION_NUMBER 0x$slurm_header_version, not 0x$slurm_expected_version])])
  ])
  AC_SUBST([SLURM_VERSION])
])

# SYNOPSIS
#   FS_SLURM_PLUGINDIR
# DESCRIPTION
#   --with-slurm-plugindir=DIR: where sched_foresight.so is installed; the plugin directory of the
#   installed Slurm unless said otherwise.
#   Sets SLURM_PLUGINDIR, and SLURM_LIBRARY: the installed libslurmfull.so, which the built plugin
#   is checked against (empty: none found).
AC_DEFUN([FS_SLURM_PLUGINDIR], [
  AC_ARG_WITH([slurm-plugindir],
    [AS_HELP_STRING([--with-slurm-plugindir=DIR],
      [Slurm's plugin directory @<:@the one of the installed Slurm@:>@])],
    [], [with_slurm_plugindir=yes])

  AC_MSG_CHECKING([for libslurmfull.so])
  SLURM_LIBRARY=
  fs_multiarch=`$CC -print-multiarch 2>/dev/null`
  fs_prefix=`AS_DIRNAME(["$SLURMCTLD"])`/..
  for fs_dir in "$with_slurm_plugindir" ${SLURMCTLD:+"$fs_prefix/lib/slurm" "$fs_prefix/lib64/slurm"} \
                ${fs_multiarch:+"/usr/lib/$fs_multiarch/slurm-wlm"} /usr/lib64/slurm /usr/lib/slurm; do
    AS_IF([test -z "$SLURM_LIBRARY" && test -f "$fs_dir/libslurmfull.so"],
      [SLURM_LIBRARY=`cd "$fs_dir" && pwd`/libslurmfull.so])
  done
  AC_MSG_RESULT([${SLURM_LIBRARY:-not found}])

  AS_CASE([$with_slurm_plugindir],
    [no|""], [SLURM_PLUGINDIR=],
    [yes], [AS_IF([test -n "$SLURM_LIBRARY"],
      [SLURM_PLUGINDIR=`AS_DIRNAME(["$SLURM_LIBRARY"])`], [SLURM_PLUGINDIR=])],
    [SLURM_PLUGINDIR="$with_slurm_plugindir"])
  AC_SUBST([SLURM_PLUGINDIR])
  AC_SUBST([SLURM_LIBRARY])
  AM_CONDITIONAL([HAVE_SLURM_LIBRARY], [test -n "$SLURM_LIBRARY"])
])
