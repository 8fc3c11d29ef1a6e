/*
 * Files: read one whole and bounded, write one whole or not at all.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <sys/stat.h>

namespace foresight::io {

inline constexpr std::size_t kLargestFile = std::size_t{512} << 20U;

/// "stdin" for "-", else the path made fit for a message.
[[nodiscard]] std::string shown_name(const std::string& path);

/// A regular file, a pipe or, for "-", standard input.  Throws InputError ("FILE: reason").
[[nodiscard]] std::string read_file(const std::string& path, std::size_t largest = kLargestFile);

enum class Sync {
    no,  ///< whole or not at all for readers, as long as the machine runs
    disk ///< also after a power cut
};

/// Writes beside `path` and renames.  A path that is no regular file (/dev/stdout, a pipe) is
/// written directly.  Throws InputError; the old content then still stands.
void write_file(const std::string& path, std::string_view content, mode_t mode, Sync sync);

/// Makes a directory (its parents must exist); one that is there already is fine.
void make_directory(const std::string& path, mode_t mode);

/// What tells two versions of a file apart.
struct FileStamp {
    bool exists = false;
    dev_t device = 0;
    ino_t inode = 0;
    off_t size = 0;
    long long mtime_ns = 0;

    bool operator==(const FileStamp&) const = default;
};

[[nodiscard]] FileStamp stamp_of(const std::string& path) noexcept;

/// `path` when it is absolute, else `directory`/`path`.
[[nodiscard]] std::string path_in(const std::string& directory, const std::string& path);
/// What stands before the last '/', "." when there is none.
[[nodiscard]] std::string directory_of(const std::string& path);

} // namespace foresight::io
