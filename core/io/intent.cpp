/*
 * Intent: see intent.hpp.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "intent.hpp"

#include "error.hpp"
#include "file.hpp"
#include "json.hpp"

namespace foresight::io {

namespace {

constexpr const char* kFormat = "foresight-intent/1";

} // namespace

std::string intent_file(const std::string& state_dir) {
    return state_dir + "/foresight.intent.json";
}

Intents read_intents(const std::string& state_dir) {
    const std::string path = intent_file(state_dir);
    Intents intents;
    if (!stamp_of(path).exists) {
        return intents;
    }
    const Json document = parse_json(read_file(path), path);
    const Reader root(document.get(), path);
    root.expect_object();
    const Reader format = root.field("format");
    if (format.text() != kFormat) {
        format.fail(std::string("must be \"") + kFormat + "\"");
    }
    const Reader list = root.field("reservations");
    for (std::size_t i = 0; i < list.size(); ++i) {
        const Reader item = list.item(i);
        const Reader name = item.field("name");
        if (!intents.emplace(name.name(), item.field("nodes").name()).second) {
            name.fail("is there twice");
        }
    }
    return intents;
}

void write_intents(const std::string& state_dir, const Intents& intents) {
    Json list = json_list();
    for (const auto& [name, nodes] : intents) {
        Json item = json_map();
        put(item, "name", json_text(name));
        put(item, "nodes", json_text(nodes));
        append(list, std::move(item));
    }
    Json root = json_map();
    put(root, "format", json_text(kFormat));
    put(root, "reservations", std::move(list));
    write_file(intent_file(state_dir), to_text(root) + "\n", 0600, Sync::disk);
}

} // namespace foresight::io
