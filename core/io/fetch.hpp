/*
 * Fetch: HTTP in the background, on one thread for all who want something from a server.
 *
 * The thread has all signals blocked, asks all its clients' servers at once (a hanging one delays
 * no other), and ends promptly when it is told to.  Only http:// and https:// are spoken; a
 * certificate must be good for its name; redirects are not followed and proxies not used; an answer
 * may not be larger than kLargestAnswer.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace foresight::io {

class Source;

inline constexpr std::size_t kLargestAnswer = std::size_t{4} << 20U;

/// One GET.
struct FetchRequest {
    std::string url;          ///< whole, with its parameters
    std::string ca_file;      ///< of certificates that are trusted; empty: the system's
    std::string token_file;   ///< its text goes along as a bearer token; empty: none
    std::int64_t timeout = 0; ///< seconds, from the name's look-up to the last byte
};

/// What came of it.
struct FetchAnswer {
    std::string problem; ///< one line when there is no answer at all; empty: the rest holds
    long status = 0;     ///< HTTP's
    std::string body;
};

/// Somebody who asks a server from time to time, one request after the other.  Both functions are
/// called on the fetch thread alone, must not throw and must not wait.
class FetchClient {
public:
    FetchClient() = default;
    virtual ~FetchClient() = default;
    FetchClient(const FetchClient&) = delete;
    FetchClient(FetchClient&&) = delete;
    FetchClient& operator=(const FetchClient&) = delete;
    FetchClient& operator=(FetchClient&&) = delete;

    /// The request to make at `now` (seconds since the epoch); nothing while none is due.  Without
    /// answered() in between, the last one was given up.
    [[nodiscard]] virtual std::optional<FetchRequest> next(std::int64_t now) = 0;
    virtual void answered(const FetchAnswer& answer, std::int64_t now) = 0;
};

/// The thread.  Lives from construction to destruction; the destructor gives up what is under way
/// and joins.
class Fetcher {
public:
    /// Serves the sources that have a client; keeps them alive.  Throws std::system_error or
    /// std::runtime_error when there can be no thread.
    explicit Fetcher(std::vector<std::shared_ptr<Source>> sources);
    ~Fetcher();
    Fetcher(const Fetcher&) = delete;
    Fetcher(Fetcher&&) = delete;
    Fetcher& operator=(const Fetcher&) = delete;
    Fetcher& operator=(Fetcher&&) = delete;

private:
    class Loop;

    std::vector<std::shared_ptr<Source>> sources_;
    std::unique_ptr<Loop> loop_;
    std::thread thread_;
};

/// A bearer token, from its file.  Throws InputError.
[[nodiscard]] std::string read_token(const std::string& path);

/// Percent-encoded, fit for a parameter's value.
[[nodiscard]] std::string url_encoded(std::string_view text);

} // namespace foresight::io
