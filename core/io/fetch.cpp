/*
 * Fetch: see fetch.hpp.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "fetch.hpp"

#include "error.hpp"
#include "file.hpp"
#include "source.hpp"
#include "text.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <stdexcept>
#include <system_error>

#include <curl/curl.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace foresight::io {

namespace {

/// How long the thread sleeps while nothing happens: requests are due by the second.
constexpr int kSleepMs = 500;
constexpr std::size_t kLargestToken = 16384;

/// libcurl for the process; counted, so that others in it may do the same.
class Curl {
public:
    Curl() {
        if (curl_global_init(CURL_GLOBAL_ALL) != CURLE_OK) {
            throw std::runtime_error("libcurl does not start");
        }
    }
    ~Curl() { curl_global_cleanup(); }
    Curl(const Curl&) = delete;
    Curl(Curl&&) = delete;
    Curl& operator=(const Curl&) = delete;
    Curl& operator=(Curl&&) = delete;
};

struct DropMulti {
    void operator()(CURLM* multi) const noexcept { curl_multi_cleanup(multi); }
};
struct DropEasy {
    void operator()(CURL* easy) const noexcept { curl_easy_cleanup(easy); }
};
struct DropList {
    void operator()(curl_slist* list) const noexcept { curl_slist_free_all(list); }
};

/// Sockets are not for the programs that the process runs.
int close_on_exec(void* /*client*/, curl_socket_t socket, curlsocktype /*purpose*/) {
    (void)::fcntl(socket, F_SETFD, FD_CLOEXEC);
    return CURL_SOCKOPT_OK;
}

void only_http(CURL* easy) {
#if LIBCURL_VERSION_NUM >= 0x075500
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
#else
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS, CURLPROTO_HTTP | CURLPROTO_HTTPS);
#endif
}

} // namespace

std::string read_token(const std::string& path) {
    const std::string text = read_file(path, kLargestToken);
    const std::string token(trim(text));
    const bool fine =
        std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c < '\x7f'; });
    if (token.empty() || !fine) {
        throw InputError(shown_name(path) + ": must hold a token, one line without spaces");
    }
    return token;
}

std::string url_encoded(std::string_view text) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    std::string out;
    for (const char c : text) {
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                           (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' || c == '~';
        const auto byte = static_cast<unsigned char>(c);
        if (plain) {
            out += c;
        } else {
            out += {'%', digits[byte >> 4U], digits[byte & 15U]};
        }
    }
    return out;
}

namespace {

/// A client and the transfer that is under way for it.
class Transfer {
public:
    explicit Transfer(FetchClient& client) : client_(&client) {}

    /// Begins the client's next request where one is due.  False: there is none under way.
    bool begin(CURLM* multi, std::int64_t now);
    void end(CURLM* multi, CURLcode code, std::int64_t now);
    void give_up(CURLM* multi);

    [[nodiscard]] bool busy() const noexcept { return easy_ != nullptr; }
    [[nodiscard]] bool is(const CURL* easy) const noexcept { return easy_.get() == easy; }

private:
    void prepare();
    [[nodiscard]] std::string explain(CURLcode code) const;
    static std::size_t take(char* bytes, std::size_t size, std::size_t count, void* transfer);

    FetchClient* client_;
    FetchRequest request_;
    FetchAnswer answer_;
    bool too_large_ = false;
    std::array<char, CURL_ERROR_SIZE> error_{};
    std::unique_ptr<curl_slist, DropList> headers_; // outlives the handle that refers to it
    std::unique_ptr<CURL, DropEasy> easy_;
};

std::size_t Transfer::take(char* bytes, std::size_t size, std::size_t count, void* transfer) {
    auto* self = static_cast<Transfer*>(transfer);
    const std::size_t length = size * count;
    if (self->answer_.body.size() + length > kLargestAnswer) {
        self->too_large_ = true;
        return 0;
    }
    try {
        self->answer_.body.append(bytes, length);
    } catch (const std::bad_alloc&) {
        return 0;
    }
    return length;
}

void Transfer::prepare() {
    CURL* easy = easy_.get();
    error_.fill('\0');
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, error_.data());
    curl_easy_setopt(easy, CURLOPT_URL, request_.url.c_str());
    only_http(easy);
    // Signals belong to the process that we live in.
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, &close_on_exec);
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
    curl_easy_setopt(easy, CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L);
    curl_easy_setopt(easy, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
    if (!request_.ca_file.empty()) {
        curl_easy_setopt(easy, CURLOPT_CAINFO, request_.ca_file.c_str());
    }
    curl_easy_setopt(easy, CURLOPT_TIMEOUT, static_cast<long>(request_.timeout));
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, static_cast<long>(request_.timeout));
    curl_easy_setopt(easy, CURLOPT_USERAGENT, "foresight/" FORESIGHT_VERSION);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &Transfer::take);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, this);
    if (!request_.token_file.empty()) {
        const std::string header = "Authorization: Bearer " + read_token(request_.token_file);
        headers_.reset(curl_slist_append(nullptr, header.c_str()));
        curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers_.get());
    }
}

bool Transfer::begin(CURLM* multi, std::int64_t now) {
    auto request = client_->next(now);
    if (!request) {
        return false;
    }
    request_ = std::move(*request);
    answer_ = {};
    too_large_ = false;
    easy_.reset(curl_easy_init());
    try {
        if (!easy_) {
            throw InputError("no memory for a request");
        }
        prepare();
        if (curl_multi_add_handle(multi, easy_.get()) != CURLM_OK) {
            throw InputError("libcurl does not take the request");
        }
        return true;
    } catch (const InputError& error) {
        easy_.reset();
        answer_.problem = error.what();
        client_->answered(answer_, now);
        return false;
    }
}

/// Words of our own where libcurl's hold times, which make every line a new one.
std::string Transfer::explain(CURLcode code) const {
    long system = 0;
    switch (code) {
    case CURLE_OPERATION_TIMEDOUT:
        return "no whole answer within " + std::to_string(request_.timeout) + " s";
    case CURLE_COULDNT_CONNECT:
        curl_easy_getinfo(easy_.get(), CURLINFO_OS_ERRNO, &system);
        return "cannot connect" +
               (system == 0 ? std::string()
                            : ": " + std::generic_category().message(static_cast<int>(system)));
    case CURLE_WRITE_ERROR:
        return too_large_
                   ? "the answer is larger than " + std::to_string(kLargestAnswer >> 20U) + " MiB"
                   : "no memory for the answer";
    default:
        return printable(error_.front() != '\0' ? error_.data() : curl_easy_strerror(code), 200);
    }
}

void Transfer::end(CURLM* multi, CURLcode code, std::int64_t now) {
    if (code == CURLE_OK) {
        curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &answer_.status);
    } else {
        answer_.problem = explain(code);
    }
    give_up(multi);
    client_->answered(answer_, now);
    answer_ = {};
}

void Transfer::give_up(CURLM* multi) {
    if (easy_) {
        curl_multi_remove_handle(multi, easy_.get());
        easy_.reset();
        headers_.reset();
    }
}

} // namespace

class Fetcher::Loop {
public:
    explicit Loop(const std::vector<std::shared_ptr<Source>>& sources) : multi_(curl_multi_init()) {
        if (!multi_ || wake_ < 0) {
            throw std::runtime_error("libcurl does not start");
        }
        for (const auto& source : sources) {
            if (FetchClient* client = source->client()) {
                transfers_.push_back(std::make_unique<Transfer>(*client));
            }
        }
    }

    ~Loop() { ::close(wake_); }
    Loop(const Loop&) = delete;
    Loop(Loop&&) = delete;
    Loop& operator=(const Loop&) = delete;
    Loop& operator=(Loop&&) = delete;

    [[nodiscard]] bool has_clients() const noexcept { return !transfers_.empty(); }

    /// From any thread.
    void stop() noexcept {
        stop_ = true;
        const std::uint64_t one = 1;
        (void)!::write(wake_, &one, sizeof one);
    }

    void run();

private:
    void collect(std::int64_t now);

    Curl curl_;
    // curl_multi_wakeup() came with libcurl 7.68 only.
    int wake_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    std::unique_ptr<CURLM, DropMulti> multi_;
    std::vector<std::unique_ptr<Transfer>> transfers_; // libcurl knows their addresses
    std::atomic<bool> stop_{false};
};

void Fetcher::Loop::run() {
    while (!stop_) {
        const std::int64_t now = std::time(nullptr);
        bool begun = false;
        for (const auto& transfer : transfers_) {
            begun = (!transfer->busy() && transfer->begin(multi_.get(), now)) || begun;
        }
        int running = 0;
        curl_multi_perform(multi_.get(), &running);
        collect(std::time(nullptr));
        if (!begun) {
            curl_waitfd wake{wake_, CURL_WAIT_POLLIN, 0};
            curl_multi_wait(multi_.get(), &wake, 1, kSleepMs, nullptr);
        }
    }
    for (const auto& transfer : transfers_) {
        transfer->give_up(multi_.get());
    }
}

/// Hands out what has come.
void Fetcher::Loop::collect(std::int64_t now) {
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi_.get(), &left)) {
        if (message->msg != CURLMSG_DONE) {
            continue;
        }
        const CURLcode code = message->data.result; // gone with the handle
        const auto found =
            std::find_if(transfers_.begin(), transfers_.end(),
                         [&](const auto& transfer) { return transfer->is(message->easy_handle); });
        if (found != transfers_.end()) {
            (*found)->end(multi_.get(), code, now);
        }
    }
}

Fetcher::Fetcher(std::vector<std::shared_ptr<Source>> sources)
    : sources_(std::move(sources)), loop_(std::make_unique<Loop>(sources_)) {
    if (!loop_->has_clients()) {
        return;
    }
    // The thread inherits the mask: no signal of the process is ever handled on it.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
        thread_ = std::thread([this] {
            (void)::prctl(PR_SET_NAME, "foresight-fetch", 0, 0, 0);
            loop_->run();
        });
    } catch (...) {
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
        throw;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Fetcher::~Fetcher() {
    if (thread_.joinable()) {
        loop_->stop();
        thread_.join();
    }
}

} // namespace foresight::io
