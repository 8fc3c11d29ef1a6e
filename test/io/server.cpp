/*
 * Server: see server.hpp.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "server.hpp"

#include "core/io/file.hpp"
#include "harness.h"

#include <chrono>
#include <csignal>
#include <stdexcept>
#include <thread>

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

Child::Child(const std::vector<std::string>& command) {
    int in[2];
    int out[2];
    if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0) {
        throw std::runtime_error("no pipe");
    }
    std::vector<char*> arguments;
    for (const std::string& word : command) {
        arguments.push_back(const_cast<char*>(word.c_str()));
    }
    arguments.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        ::dup2(in[0], STDIN_FILENO);
        ::dup2(out[1], STDOUT_FILENO);
        ::execvp(arguments[0], arguments.data());
        ::_exit(127);
    }
    ::close(in[0]);
    ::close(out[1]);
    in_ = in[1];
    out_ = out[0];
}

Child::~Child() {
    ::close(in_);
    ::close(out_);
    if (pid_ > 0) {
        ::kill(pid_, SIGKILL);
        wait();
    }
}

std::string Child::line() const {
    std::string text;
    char c = 0;
    while (::read(out_, &c, 1) == 1 && c != '\n') {
        text += c;
    }
    return text;
}

int Child::wait() {
    int status = 0;
    if (pid_ < 0 || ::waitpid(pid_, &status, 0) != pid_) {
        return -1;
    }
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool wait_until(const std::function<bool()>& holds) {
    for (int i = 0; i < 2400; ++i) {
        if (holds()) {
            return true;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(25));
    }
    return false;
}

std::string closed_port() {
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    (void)::bind(socket, reinterpret_cast<sockaddr*>(&address), size);
    (void)::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
    ::close(socket);
    return std::to_string(ntohs(address.sin_port));
}

namespace {

std::vector<std::string> command_of(const std::string& spoil, const std::string& certificate,
                                    const std::string& key) {
    std::vector<std::string> command{"python3", test_source("test/io/bad_server.py"), spoil};
    if (!certificate.empty()) {
        command.insert(command.end(), {certificate, key});
    }
    return command;
}

} // namespace

Server::Server(const std::string& certificate, const std::string& key)
    : switch_(std::string(test_directory()) + "/spoil"),
      scheme_(certificate.empty() ? "http" : "https"),
      child_(command_of(switch_, certificate, key)), port_(child_.line()) {
    if (port_.empty()) {
        test_skip("python3 does not run test/io/bad_server.py");
    }
}

std::string Server::url(const std::string& how) const {
    return scheme_ + "://127.0.0.1:" + port_ + "/" + how;
}

void Server::spoil() const {
    foresight::io::write_file(switch_, "", 0600, foresight::io::Sync::no);
}

foresight::io::RealtimeSettings asking(const std::string& url) {
    const foresight::io::Settings settings = foresight::io::parse_settings(
        "Realtime=chat QOS=x Url=" + url + " Query=\"sum(x{a='b c'}) + 1\" MinGpus=1 MaxGpus=9 " +
            "FetchInterval=00:00:01 Timeout=00:00:02 StaleAfter=00:01:00 UnitsPerGpu=0.5 " +
            "Past=2-00",
        "f");
    return settings.realtime.front();
}
