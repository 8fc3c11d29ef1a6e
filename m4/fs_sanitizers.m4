# SPDX-License-Identifier: GPL-2.0-or-later
#
# SYNOPSIS
#   FS_SANITIZERS
#
# DESCRIPTION
#   --enable-sanitizers[=address|thread] sets SANITIZER_FLAGS for compiling and linking:
#   "address" (the default of the option) is AddressSanitizer with UndefinedBehaviorSanitizer,
#   "thread" is ThreadSanitizer.  For unit tests: a plugin with a sanitizer in it does not load
#   into a daemon without, so that the checks of the built plugin are left out.
#
#   Conditional: HAVE_SANITIZERS.
#
AC_DEFUN([FS_SANITIZERS], [
  AC_ARG_ENABLE([sanitizers],
    [AS_HELP_STRING([--enable-sanitizers@<:@=address|thread@:>@],
      [build with sanitizers; address (with undefined) unless said otherwise])],
    [], [enable_sanitizers=no])

  AS_CASE([$enable_sanitizers],
    [no], [SANITIZER_FLAGS=],
    [yes|address], [
      enable_sanitizers=address
      SANITIZER_FLAGS="-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer"
    ],
    [thread], [SANITIZER_FLAGS="-fsanitize=thread -fno-omit-frame-pointer"],
    [AC_MSG_ERROR([--enable-sanitizers takes address or thread, not $enable_sanitizers])])

  AS_IF([test -n "$SANITIZER_FLAGS"], [
    fs_saved_flags="$CFLAGS"
    CFLAGS="$CFLAGS $SANITIZER_FLAGS"
    AC_MSG_CHECKING([whether $CC links with $SANITIZER_FLAGS])
    AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])], [AC_MSG_RESULT([yes])], [
      AC_MSG_RESULT([no])
      AC_MSG_ERROR([this compiler has no such sanitizer (Debian package: libgcc-12-dev)])
    ])
    CFLAGS="$fs_saved_flags"
  ])
  AM_CONDITIONAL([HAVE_SANITIZERS], [test "$enable_sanitizers" != no])
  AC_SUBST([SANITIZER_FLAGS])
])
