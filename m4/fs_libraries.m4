# SPDX-License-Identifier: GPL-2.0-or-later
#
# The libraries that Foresight stands on, one macro each.  A missing one stops configure with the
# name of the Debian package to install.

# SYNOPSIS
#   FS_JANSSON
# DESCRIPTION
#   JSON.  Sets JANSSON_CFLAGS and JANSSON_LIBS.
AC_DEFUN([FS_JANSSON], [
  PKG_CHECK_MODULES([JANSSON], [jansson >= 2.12], [],
    [AC_MSG_ERROR([jansson 2.12 or later is needed (Debian package: libjansson-dev)])])
])

# SYNOPSIS
#   FS_LIBCURL
# DESCRIPTION
#   Forecasts over HTTP.  Sets LIBCURL_CFLAGS and LIBCURL_LIBS.
AC_DEFUN([FS_LIBCURL], [
  PKG_CHECK_MODULES([LIBCURL], [libcurl >= 7.61], [],
    [AC_MSG_ERROR([libcurl 7.61 or later is needed (Debian package: libcurl4-openssl-dev)])])
])

# SYNOPSIS
#   FS_CLI11
# DESCRIPTION
#   The command line of the foresight command, headers alone.  Sets CLI11_CFLAGS.
AC_DEFUN([FS_CLI11], [
  PKG_CHECK_MODULES([CLI11], [CLI11 >= 2.1], [],
    [AC_MSG_ERROR([CLI11 2.1 or later is needed (Debian package: libcli11-dev)])])
])

# SYNOPSIS
#   FS_CUNIT
# DESCRIPTION
#   Unit tests.  Sets CUNIT_CFLAGS and CUNIT_LIBS.  Without CUnit everything builds and the unit
#   tests are left out, with a word about it in the summary and in make check.
#
#   Conditional: HAVE_CUNIT.
AC_DEFUN([FS_CUNIT], [
  PKG_CHECK_MODULES([CUNIT], [cunit >= 2.1], [have_cunit=yes], [have_cunit=no])
  AM_CONDITIONAL([HAVE_CUNIT], [test "$have_cunit" = yes])
])

# SYNOPSIS
#   FS_CBC
# DESCRIPTION
#   COIN-OR's branch and cut, for foresight plan --mode exact.  Sets CBC_CFLAGS and CBC_LIBS.
#   Without it, or with --without-cbc, the command says that this build has no exact mode.
#
#   Conditional: HAVE_CBC.
AC_DEFUN([FS_CBC], [
  AC_ARG_WITH([cbc],
    [AS_HELP_STRING([--without-cbc], [build no exact mode even if COIN-OR CBC is there])],
    [], [with_cbc=check])
  have_cbc=no
  AS_IF([test "x$with_cbc" != xno],
    [PKG_CHECK_MODULES([CBC], [cbc >= 2.9], [have_cbc=yes], [have_cbc=no])])
  AS_IF([test "x$with_cbc" = xyes && test "$have_cbc" = no],
    [AC_MSG_ERROR([--with-cbc: COIN-OR CBC 2.9 or later is needed (Debian package: coinor-libcbc-dev)])])
  AM_CONDITIONAL([HAVE_CBC], [test "$have_cbc" = yes])
])
