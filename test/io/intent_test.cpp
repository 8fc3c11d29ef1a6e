// SPDX-License-Identifier: GPL-2.0-or-later
#include "io/intent.hpp"

#include "harness.h"
#include "io/error.hpp"
#include "io/file.hpp"

#include <cstdlib>

using namespace foresight::io;

namespace {

std::string new_directory() {
    std::string name = "/tmp/foresight-intent-XXXXXX";
    return mkdtemp(name.data()) == nullptr ? std::string() : name;
}

void comes_back_as_it_was() {
    const std::string directory = new_directory();
    CHECK(read_intents(directory).empty());
    const Intents intents{{"rt-chat", "n[1-3]"}, {"with \"quotes\"", "n7,n[9-12]"}};
    write_intents(directory, intents);
    CHECK(read_intents(directory) == intents);
    write_intents(directory, {});
    CHECK(read_intents(directory).empty());
}

void what_is_no_intent_is_refused() {
    const std::string directory = new_directory();
    for (const char* text :
         {"", "{", "[]", R"({"format": "foresight-intent/2", "reservations": []})",
          R"({"format": "foresight-intent/1"})",
          R"({"format": "foresight-intent/1", "reservations": [{"name": "", "nodes": "n1"}]})",
          R"({"format": "foresight-intent/1", "reservations": [{"name": "a"}]})",
          R"({"format": "foresight-intent/1", "reservations": [{"name": "a", "nodes": "n1"},
              {"name": "a", "nodes": "n2"}]})"}) {
        write_file(intent_file(directory), text, 0600, Sync::no);
        std::string told;
        try {
            (void)read_intents(directory);
        } catch (const InputError& error) {
            told = error.what();
        }
        CHECK(told.find("foresight.intent.json") != std::string::npos);
        CHECK(told.find('\n') == std::string::npos);
    }
}

} // namespace

TEST_SUITE("intent", {"comes back as it was", comes_back_as_it_was},
           {"what is no intent is refused", what_is_no_intent_is_refused})
