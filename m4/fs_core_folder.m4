# SPDX-License-Identifier: GPL-2.0-or-later
#
# SYNOPSIS
#   FS_CORE_FOLDER
#
# DESCRIPTION
#   Autoconf's configure removes core dumps named "core" again and again.  Here that is a folder
#   of ours: this shell function keeps rm from complaining about it.  To be called first.
#
AC_DEFUN([FS_CORE_FOLDER], [
rm ()
{
  for fs_argument
  do
    shift
    test "x$fs_argument" = xcore || set -- "$[]@" "$fs_argument"
  done
  command rm "$[]@"
}
])
