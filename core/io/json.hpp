/*
 * JSON: reading with a place for every complaint, building without leaks.  Over jansson.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <jansson.h>

namespace foresight::io {

struct JsonDrop {
    void operator()(json_t* value) const noexcept { json_decref(value); }
};
using Json = std::unique_ptr<json_t, JsonDrop>;

/// Parses a whole file.  Throws InputError with line and column.
[[nodiscard]] Json parse_json(const std::string& text, const std::string& shown_file);

/**
 * A value inside a file, and the way to it.  Every method throws InputError
 * ("FILE: jobs[3].gpus: must be ...") when the value is not what it asks for.
 *
 * A child refers to its parent, which must outlive it.
 */
class Reader {
public:
    Reader(const json_t* value, const std::string& file) noexcept : value_(value), file_(&file) {}

    [[nodiscard]] Reader field(const char* key) const;
    [[nodiscard]] std::optional<Reader> find(const char* key) const;

    [[nodiscard]] std::size_t size() const; ///< of an array
    [[nodiscard]] Reader item(std::size_t index) const;

    [[nodiscard]] std::string text() const;
    [[nodiscard]] std::string name() const; ///< a text that is not empty
    [[nodiscard]] std::int64_t whole(std::int64_t least, std::int64_t most) const;
    [[nodiscard]] double number(double least, double most) const;

    void expect_object() const;
    [[noreturn]] void fail(const std::string& what) const;

private:
    Reader(const json_t* value, const Reader& parent, const char* key, std::size_t index) noexcept
        : value_(value), file_(parent.file_), parent_(&parent), key_(key), index_(index) {}

    [[nodiscard]] std::string path() const;
    [[nodiscard]] const char* kind() const noexcept;

    const json_t* value_;
    const std::string* file_;
    const Reader* parent_ = nullptr;
    const char* key_ = nullptr; ///< nullptr: an array's item
    std::size_t index_ = 0;
};

// Building.  Each throws std::bad_alloc; names are made valid UTF-8.
[[nodiscard]] Json json_list();
[[nodiscard]] Json json_map();
[[nodiscard]] Json json_text(std::string_view text);
[[nodiscard]] Json json_whole(std::int64_t number);
[[nodiscard]] Json json_number(double number);
[[nodiscard]] Json json_nothing();
[[nodiscard]] Json json_truth(bool value);
void put(const Json& map, const char* key, Json value);
void append(const Json& list, Json value);

/// In one line without a newline.
[[nodiscard]] std::string to_text(const Json& value);

} // namespace foresight::io
