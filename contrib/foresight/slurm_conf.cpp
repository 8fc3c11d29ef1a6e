/*
 * slurm.conf: see slurm_conf.hpp.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "slurm_conf.hpp"

#include "io/error.hpp"
#include "io/file.hpp"
#include "io/text.hpp"

#include <algorithm>

namespace foresight::command {

namespace {

constexpr int kDeepest = 16;

/// "Include FILE" is a line of its own manner; empty for any other line.
std::string included_file(const io::ConfLine& line) {
    constexpr std::string_view word = "include";
    const std::string_view whole = line.whole;
    if (whole.size() <= word.size() || !io::equal_nocase(whole.substr(0, word.size()), word) ||
        (whole[word.size()] != ' ' && whole[word.size()] != '\t')) {
        return "";
    }
    const std::string_view name = io::trim(whole.substr(word.size()));
    return std::string(name.substr(0, name.find_first_of(" \t")));
}

ConfRecord record_of(const io::ConfLine& line, const std::string& place) {
    ConfRecord record;
    record.name = line.pairs.front().value;
    record.place = place;
    for (const io::ConfPair& pair : line.pairs) {
        record.fields[io::lower(pair.key)] = pair.value;
    }
    return record;
}

} // namespace

SlurmConf SlurmConf::read(const std::string& path) {
    SlurmConf conf;
    conf.path_ = path;
    conf.read_file(path, 0);
    return conf;
}

void SlurmConf::read_file(const std::string& path, int depth) {
    if (depth > kDeepest) {
        throw io::InputError(io::shown_name(path) + ": files include each other more than " +
                             std::to_string(kDeepest) + " deep");
    }
    for (const io::ConfLine& line : io::parse_conf_text(io::read_file(path))) {
        take_line(line, path, depth);
    }
}

void SlurmConf::take_line(const io::ConfLine& line, const std::string& path, int depth) {
    const std::string place = io::shown_name(path) + ":" + std::to_string(line.number);
    if (std::string file = included_file(line); !file.empty()) {
        if (const std::size_t mark = file.find("%c"); mark != std::string::npos) {
            file.replace(mark, 2, io::lower(value("ClusterName")));
        }
        try {
            read_file(io::path_in(io::directory_of(path), file), depth + 1);
        } catch (const io::InputError& error) {
            if (depth > 0) {
                throw;
            }
            throw io::InputError(place + ": Include: " + error.what());
        }
        return;
    }
    if (line.pairs.empty()) {
        return; // slurmctld complains about it; it is none of our keys
    }
    const std::string key = io::lower(line.pairs.front().key);
    if (key == "partitionname") {
        partitions_.push_back(record_of(line, place));
    } else if (key == "nodename") {
        nodes_.push_back(record_of(line, place));
    } else {
        settings_[key] = {line.pairs.front().value, place};
    }
}

const ConfSetting* SlurmConf::find(std::string_view key) const {
    const auto found = settings_.find(io::lower(key));
    return found == settings_.end() ? nullptr : &found->second;
}

std::string SlurmConf::value(std::string_view key, std::string_view otherwise) const {
    const ConfSetting* setting = find(key);
    return setting == nullptr ? std::string(otherwise) : setting->value;
}

std::string SlurmConf::place(std::string_view key) const {
    const ConfSetting* setting = find(key);
    return setting == nullptr ? io::shown_name(path_) : setting->place;
}

std::vector<std::string> SlurmConf::words(std::string_view key) const {
    return io::split(io::lower(value(key)), ',');
}

bool SlurmConf::has_word(std::string_view key, std::string_view word) const {
    const std::vector<std::string> all = words(key);
    return std::find(all.begin(), all.end(), io::lower(word)) != all.end();
}

bool SlurmConf::has_partition(std::string_view name) const {
    return std::any_of(partitions_.begin(), partitions_.end(), [&](const ConfRecord& partition) {
        const std::vector<std::string> names = io::split(partition.name, ',');
        return std::find(names.begin(), names.end(), name) != names.end();
    });
}

} // namespace foresight::command
