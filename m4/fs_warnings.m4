# SPDX-License-Identifier: GPL-2.0-or-later
#
# SYNOPSIS
#   FS_WARNINGS
#
# DESCRIPTION
#   Sets WARN_CFLAGS and WARN_CXXFLAGS for our own code.  --enable-werror makes warnings errors
#   (for continuous integration; a release must build with compilers of the future).
#
AC_DEFUN([FS_WARNINGS], [
  AC_ARG_ENABLE([werror],
    [AS_HELP_STRING([--enable-werror], [treat warnings as errors])], [], [enable_werror=no])

  WARN_CFLAGS="-Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes"
  WARN_CXXFLAGS="-Wall -Wextra -Wconversion -Wshadow -Wnon-virtual-dtor"
  AS_IF([test "x$enable_werror" = xyes], [
    WARN_CFLAGS="$WARN_CFLAGS -Werror"
    WARN_CXXFLAGS="$WARN_CXXFLAGS -Werror"
  ])
  AC_SUBST([WARN_CFLAGS])
  AC_SUBST([WARN_CXXFLAGS])
])
