/*
 * slurm.conf, as far as Foresight's place in it goes: a value read from files, not from Slurm.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#pragma once

#include "io/conf_text.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace foresight::command {

struct ConfSetting {
    std::string value;
    std::string place; ///< FILE:LINE
};

/// A NodeName= or PartitionName= line.
struct ConfRecord {
    std::string name;
    std::map<std::string, std::string> fields; ///< keys in lower case
    std::string place;
};

class SlurmConf {
public:
    /// Reads the file and what it includes.  Throws io::InputError.
    [[nodiscard]] static SlurmConf read(const std::string& path);

    /// The value in force (the last one, as in Slurm), or nullptr.  Keys are case-insensitive.
    [[nodiscard]] const ConfSetting* find(std::string_view key) const;
    /// The same as text, `otherwise` when it is not set.
    [[nodiscard]] std::string value(std::string_view key, std::string_view otherwise = "") const;
    /// Where a key stands: FILE:LINE, or the file when it is not set.
    [[nodiscard]] std::string place(std::string_view key) const;

    /// The comma-separated words of a value in lower case: "sched_interval=-1", "defer".
    [[nodiscard]] std::vector<std::string> words(std::string_view key) const;
    [[nodiscard]] bool has_word(std::string_view key, std::string_view word) const;

    [[nodiscard]] const std::string& path() const noexcept { return path_; }
    [[nodiscard]] const std::vector<ConfRecord>& partitions() const noexcept { return partitions_; }
    [[nodiscard]] const std::vector<ConfRecord>& nodes() const noexcept { return nodes_; }
    [[nodiscard]] bool has_partition(std::string_view name) const;

private:
    void read_file(const std::string& path, int depth);
    void take_line(const io::ConfLine& line, const std::string& path, int depth);

    std::string path_;
    std::map<std::string, ConfSetting> settings_;
    std::vector<ConfRecord> partitions_;
    std::vector<ConfRecord> nodes_;
};

} // namespace foresight::command
