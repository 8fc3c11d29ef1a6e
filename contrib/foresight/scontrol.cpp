/*
 * scontrol: see scontrol.hpp.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "scontrol.hpp"

#include "io/error.hpp"
#include "io/text.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace foresight::command {

namespace {

/// A file descriptor that is closed.
class Pipe {
public:
    Pipe() {
        if (::pipe2(ends_.data(), O_CLOEXEC) != 0) {
            throw io::InputError(std::string("no pipe for scontrol: ") + std::strerror(errno));
        }
    }
    Pipe(const Pipe&) = delete;
    Pipe(Pipe&&) = delete;
    Pipe& operator=(const Pipe&) = delete;
    Pipe& operator=(Pipe&&) = delete;
    ~Pipe() {
        close_writer();
        ::close(ends_[0]);
    }
    [[nodiscard]] int writer() const noexcept { return ends_[1]; }
    void close_writer() noexcept {
        if (ends_[1] >= 0) {
            ::close(ends_[1]);
            ends_[1] = -1;
        }
    }
    [[nodiscard]] std::string read_all() const {
        std::string text;
        std::array<char, 4096> buffer{};
        while (true) {
            const ssize_t count = ::read(ends_[0], buffer.data(), buffer.size());
            if (count > 0) {
                text.append(buffer.data(), static_cast<std::size_t>(count));
            } else if (count == 0 || errno != EINTR) {
                return text;
            }
        }
    }

private:
    std::array<int, 2> ends_{-1, -1};
};

std::string first_line(const std::string& text) {
    const std::string line = text.substr(0, text.find('\n'));
    return line.empty() ? "no word of why" : io::printable(line);
}

} // namespace

std::string scontrol(const std::vector<std::string>& arguments) {
    Pipe pipe;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    // What it says of errors comes the same way.
    posix_spawn_file_actions_adddup2(&actions, pipe.writer(), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, pipe.writer(), STDERR_FILENO);
    std::vector<std::string> words{"scontrol"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    for (std::string& word : words) {
        argv.push_back(word.data());
    }
    argv.push_back(nullptr);
    pid_t child = 0;
    const int failed = ::posix_spawnp(&child, "scontrol", &actions, nullptr, argv.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed != 0) {
        throw io::InputError(std::string("scontrol cannot be run: ") + std::strerror(failed));
    }
    pipe.close_writer();
    std::string text = pipe.read_all();
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        throw io::InputError("scontrol " + (arguments.empty() ? "" : arguments.front()) +
                             " failed: " + first_line(text));
    }
    return text;
}

std::map<std::string, std::string> reservations() {
    std::map<std::string, std::string> found;
    for (const std::string& line : io::split(scontrol({"-o", "show", "reservation"}), '\n')) {
        std::string name;
        std::string nodes;
        for (const std::string& word : io::split(line, ' ')) {
            if (name.empty() && word.rfind("ReservationName=", 0) == 0) {
                name = word.substr(std::strlen("ReservationName="));
            } else if (nodes.empty() && word.rfind("Nodes=", 0) == 0) {
                nodes = word.substr(std::strlen("Nodes="));
            }
        }
        if (!name.empty()) {
            found[name] = nodes;
        }
    }
    return found;
}

std::string shell_word(const std::string& word) {
    const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
        return (std::isalnum(static_cast<unsigned char>(c)) != 0) ||
               std::strchr("-_=./,:+@%", c) != nullptr;
    });
    if (plain) {
        return word;
    }
    std::string quoted = "'";
    for (const char c : word) {
        quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    }
    return quoted + "'";
}

} // namespace foresight::command
