/*
 * Server: bad_server.py, for a test that asks it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#pragma once

#include "core/io/settings.hpp"

#include <functional>
#include <string>
#include <vector>

#include <sys/types.h>

/// A child with its standard output in a pipe, and an empty one for its input; killed at the end.
class Child {
public:
    explicit Child(const std::vector<std::string>& command);
    ~Child();
    Child(const Child&) = delete;
    Child(Child&&) = delete;
    Child& operator=(const Child&) = delete;
    Child& operator=(Child&&) = delete;

    /// Its next line; "" when it has ended.
    [[nodiscard]] std::string line() const;
    /// Waits for its end: the exit status, -1 when a signal ended it.
    int wait();

private:
    pid_t pid_ = -1;
    int in_ = -1;
    int out_ = -1;
};

/// Waits until it holds; false when it does not within a minute.
[[nodiscard]] bool wait_until(const std::function<bool()>& holds);

/// A port of this machine on which nobody listens.
[[nodiscard]] std::string closed_port();

/// bad_server.py in the case's directory.
class Server {
public:
    Server() : Server("", "") {}
    Server(const std::string& certificate, const std::string& key);

    /// False: there is no python3, the case is marked as skipped.
    [[nodiscard]] bool runs() const noexcept { return !port_.empty(); }
    [[nodiscard]] std::string url(const std::string& how) const;
    /// From now on, answers are spoilt.
    void spoil() const;

private:
    std::string switch_;
    std::string scheme_;
    Child child_;
    std::string port_;
};

/// A Realtime= line that asks `url` every second and has no time to lose.
[[nodiscard]] foresight::io::RealtimeSettings asking(const std::string& url);
