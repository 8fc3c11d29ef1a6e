# SPDX-License-Identifier: GPL-2.0-or-later
#
# SYNOPSIS
#   FS_LANGUAGES
#
# DESCRIPTION
#   Sets STD_CFLAGS and STD_CXXFLAGS to the standards that the code is written in: C17 with GNU
#   extensions (Slurm's headers need them) and C++20 without.  Stops when a compiler is too old.
#
AC_DEFUN([FS_LANGUAGES], [
  STD_CFLAGS="-std=gnu17"
  STD_CXXFLAGS="-std=c++20"

  AC_LANG_PUSH([C])
  fs_saved_flags="$CFLAGS"
  CFLAGS="$CFLAGS $STD_CFLAGS"
  AC_CACHE_CHECK([whether $CC compiles C17], [fs_cv_c17], [
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM([], [[_Static_assert(__STDC_VERSION__ >= 201710L, "");]])],
      [fs_cv_c17=yes], [fs_cv_c17=no])])
  CFLAGS="$fs_saved_flags"
  AC_LANG_POP([C])
  AS_IF([test "$fs_cv_c17" = no], [AC_MSG_ERROR([$CC does not compile C17 (Debian package: gcc)])])

  AC_LANG_PUSH([C++])
  fs_saved_flags="$CXXFLAGS"
  CXXFLAGS="$CXXFLAGS $STD_CXXFLAGS"
  AC_CACHE_CHECK([whether $CXX compiles C++20], [fs_cv_cxx20], [
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[
#include <bit>
#include <compare>
#include <span>
]], [[static_assert(std::popcount(3u) == 2); std::span<int> s; return (int) s.size();]])],
      [fs_cv_cxx20=yes], [fs_cv_cxx20=no])])
  CXXFLAGS="$fs_saved_flags"
  AC_LANG_POP([C++])
  AS_IF([test "$fs_cv_cxx20" = no],
    [AC_MSG_ERROR([$CXX does not compile C++20 (Debian package: g++)])])

  AC_SUBST([STD_CFLAGS])
  AC_SUBST([STD_CXXFLAGS])
])
