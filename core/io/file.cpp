/*
 * Files: see file.hpp.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "file.hpp"

#include "error.hpp"
#include "text.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

namespace foresight::io {

namespace {

/// A file descriptor that closes itself.
class Descriptor {
public:
    explicit Descriptor(int number) noexcept : number_(number) {}
    ~Descriptor() { close(); }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    Descriptor(Descriptor&&) = delete;
    Descriptor& operator=(Descriptor&&) = delete;

    [[nodiscard]] int get() const noexcept { return number_; }

    /// Closes now; false when the kernel reports a late write error.
    bool close() noexcept {
        const int number = number_;
        number_ = -1;
        return number <= STDERR_FILENO || ::close(number) == 0;
    }

private:
    int number_;
};

[[noreturn]] void fail(const std::string& path, const std::string& what, int error) {
    throw InputError(shown_name(path) + ": " + what + ": " +
                     std::generic_category().message(error));
}

void write_all(int descriptor, std::string_view content, const std::string& path) {
    while (!content.empty()) {
        const ssize_t done = ::write(descriptor, content.data(), content.size());
        if (done < 0 && errno == EINTR) {
            continue;
        }
        if (done < 0) {
            fail(path, "cannot write", errno);
        }
        content.remove_prefix(static_cast<std::size_t>(done));
    }
}

void sync_directory(const std::string& path) {
    const std::string directory = directory_of(path);
    const Descriptor handle(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (handle.get() < 0 || ::fsync(handle.get()) != 0) {
        fail(directory, "cannot sync the directory", errno);
    }
}

void write_directly(const std::string& path, std::string_view content) {
    Descriptor out(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (out.get() < 0) {
        fail(path, "cannot write", errno);
    }
    write_all(out.get(), content, path);
    if (!out.close()) {
        fail(path, "cannot write", errno);
    }
}

/// Writes, gives the mode, syncs and renames; the caller removes `temporary` when this throws.
void replace(int descriptor, const std::string& temporary, const std::string& path,
             std::string_view content, mode_t mode, Sync sync) {
    Descriptor out(descriptor);
    write_all(out.get(), content, path);
    if (::fchmod(out.get(), mode) != 0 || (sync == Sync::disk && ::fsync(out.get()) != 0) ||
        !out.close() || ::rename(temporary.c_str(), path.c_str()) != 0) {
        fail(path, "cannot write", errno);
    }
    if (sync == Sync::disk) {
        sync_directory(path);
    }
}

} // namespace

std::string shown_name(const std::string& path) {
    return path == "-" ? "stdin" : printable(path, 512);
}

std::string read_file(const std::string& path, std::size_t largest) {
    const Descriptor in(path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat about {};
    if (in.get() < 0 || ::fstat(in.get(), &about) != 0) {
        fail(path, "cannot read", errno);
    }
    if (S_ISDIR(about.st_mode)) {
        fail(path, "cannot read", EISDIR);
    }
    std::string content;
    std::array<char, 65536> buffer{};
    while (true) {
        const ssize_t got = ::read(in.get(), buffer.data(), buffer.size());
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            fail(path, "cannot read", errno);
        }
        if (got == 0) {
            return content;
        }
        content.append(buffer.data(), static_cast<std::size_t>(got));
        if (content.size() > largest) {
            throw InputError(shown_name(path) + ": is larger than " +
                             std::to_string(largest >> 20U) + " MiB, the most that is read");
        }
    }
}

void write_file(const std::string& path, std::string_view content, mode_t mode, Sync sync) {
    struct stat about {};
    if (::stat(path.c_str(), &about) == 0 && !S_ISREG(about.st_mode)) {
        write_directly(path, content);
        return;
    }
    std::string temporary = path + ".XXXXXX";
    const int descriptor = ::mkostemp(temporary.data(), O_CLOEXEC);
    if (descriptor < 0) {
        fail(path, "cannot write", errno);
    }
    try {
        replace(descriptor, temporary, path, content, mode, sync);
    } catch (...) {
        ::unlink(temporary.c_str());
        throw;
    }
}

void make_directory(const std::string& path, mode_t mode) {
    if (::mkdir(path.c_str(), mode) == 0) {
        return;
    }
    const int error = errno;
    struct stat about {};
    if (error != EEXIST) {
        fail(path, "cannot make the directory", error);
    }
    if (::stat(path.c_str(), &about) != 0 || !S_ISDIR(about.st_mode)) {
        fail(path, "cannot make the directory", ENOTDIR);
    }
}

FileStamp stamp_of(const std::string& path) noexcept {
    struct stat about {};
    if (::stat(path.c_str(), &about) != 0) {
        return {};
    }
    return {true, about.st_dev, about.st_ino, about.st_size,
            about.st_mtim.tv_sec * 1'000'000'000LL + about.st_mtim.tv_nsec};
}

std::string path_in(const std::string& directory, const std::string& path) {
    return path.empty() || path.front() == '/' ? path : directory + "/" + path;
}

std::string directory_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos) {
        return ".";
    }
    return slash == 0 ? "/" : path.substr(0, slash);
}

} // namespace foresight::io
