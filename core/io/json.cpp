/*
 * JSON: see json.hpp.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "json.hpp"

#include "error.hpp"
#include "text.hpp"

#include <cmath>
#include <cstdlib>
#include <new>

namespace foresight::io {

namespace {

Json checked(json_t* value) {
    if (value == nullptr) {
        throw std::bad_alloc();
    }
    return Json(value);
}

struct Free {
    void operator()(char* text) const noexcept { std::free(text); }
};

} // namespace

Json parse_json(const std::string& text, const std::string& shown_file) {
    json_error_t error;
    Json value(json_loadb(text.data(), text.size(), JSON_REJECT_DUPLICATES, &error));
    if (!value) {
        std::string place = shown_file + ": ";
        if (error.line > 0) {
            place += "line " + std::to_string(error.line) + ", column " +
                     std::to_string(error.column) + ": ";
        }
        throw InputError(place + "no valid JSON: " + printable(error.text, 200));
    }
    return value;
}

const char* Reader::kind() const noexcept {
    switch (json_typeof(value_)) {
    case JSON_OBJECT: return "an object";
    case JSON_ARRAY: return "a list";
    case JSON_STRING: return "a text";
    case JSON_INTEGER:
    case JSON_REAL: return "a number";
    case JSON_NULL: return "null";
    default: return "true or false";
    }
}

std::string Reader::path() const {
    if (parent_ == nullptr) {
        return "";
    }
    const std::string before = parent_->path();
    if (key_ == nullptr) {
        return before + "[" + std::to_string(index_) + "]";
    }
    return before.empty() ? key_ : before + "." + key_;
}

void Reader::fail(const std::string& what) const {
    const std::string place = path();
    throw InputError(*file_ + ": " + (place.empty() ? "" : place + ": ") + what);
}

void Reader::expect_object() const {
    if (!json_is_object(value_)) {
        fail(std::string("must be an object, not ") + kind());
    }
}

std::optional<Reader> Reader::find(const char* key) const {
    expect_object();
    const json_t* child = json_object_get(value_, key);
    return child == nullptr ? std::nullopt : std::optional(Reader(child, *this, key, 0));
}

Reader Reader::field(const char* key) const {
    expect_object();
    const json_t* child = json_object_get(value_, key);
    const Reader found(child, *this, key, 0);
    if (child == nullptr) {
        found.fail("missing");
    }
    return found;
}

std::size_t Reader::size() const {
    if (!json_is_array(value_)) {
        fail(std::string("must be a list, not ") + kind());
    }
    return json_array_size(value_);
}

Reader Reader::item(std::size_t index) const {
    return {json_array_get(value_, index), *this, nullptr, index};
}

std::string Reader::text() const {
    if (!json_is_string(value_)) {
        fail(std::string("must be a text, not ") + kind());
    }
    return {json_string_value(value_), json_string_length(value_)};
}

std::string Reader::name() const {
    std::string found = text();
    if (found.empty()) {
        fail("must not be empty");
    }
    return found;
}

std::int64_t Reader::whole(std::int64_t least, std::int64_t most) const {
    if (!json_is_number(value_)) {
        fail(std::string("must be a whole number, not ") + kind());
    }
    std::int64_t number = 0;
    if (json_is_integer(value_)) {
        number = json_integer_value(value_);
    } else {
        // 3600.0 is whole too; past 2^53 a double no longer says which number was meant.
        const double real = json_real_value(value_);
        if (std::floor(real) != real || std::fabs(real) > 9007199254740992.0) {
            fail("must be a whole number, is " + format_number(real, 12));
        }
        number = static_cast<std::int64_t>(real);
    }
    if (number < least) {
        fail("must be at least " + std::to_string(least) + ", is " + std::to_string(number));
    }
    if (number > most) {
        fail("must be at most " + std::to_string(most) + ", is " + std::to_string(number));
    }
    return number;
}

double Reader::number(double least, double most) const {
    if (!json_is_number(value_)) {
        fail(std::string("must be a number, not ") + kind());
    }
    const double number = json_number_value(value_);
    if (!std::isfinite(number)) {
        fail("must be a finite number");
    }
    if (number < least) {
        fail("must be at least " + format_number(least) + ", is " + format_number(number));
    }
    if (number > most) {
        fail("must be at most " + format_number(most) + ", is " + format_number(number));
    }
    return number;
}

Json json_list() { return checked(json_array()); }
Json json_map() { return checked(json_object()); }

Json json_text(std::string_view text) {
    const std::string valid = utf8(text);
    return checked(json_stringn_nocheck(valid.data(), valid.size()));
}

Json json_whole(std::int64_t number) { return checked(json_integer(number)); }

Json json_number(double number) {
    // JSON has no infinity; whoever gives one has a fault that must not break the reader's side.
    return std::isfinite(number) ? checked(json_real(number)) : json_nothing();
}

Json json_nothing() { return Json(json_null()); }
Json json_truth(bool value) { return Json(json_boolean(value)); }

void put(const Json& map, const char* key, Json value) {
    if (json_object_set_new_nocheck(map.get(), key, value.release()) != 0) {
        throw std::bad_alloc();
    }
}

void append(const Json& list, Json value) {
    if (json_array_append_new(list.get(), value.release()) != 0) {
        throw std::bad_alloc();
    }
}

std::string to_text(const Json& value) {
    const std::unique_ptr<char, Free> text(
        json_dumps(value.get(), JSON_COMPACT | JSON_ENCODE_ANY));
    if (!text) {
        throw std::bad_alloc();
    }
    return text.get();
}

} // namespace foresight::io
