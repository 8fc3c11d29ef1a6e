/*
 * Scenario: see scenario.hpp.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "scenario.hpp"

#include "error.hpp"
#include "file.hpp"
#include "json.hpp"
#include "text.hpp"

#include <map>
#include <numeric>
#include <set>
#include <unordered_map>
#include <unordered_set>

namespace foresight::io {

namespace {

constexpr const char* kFormat = "foresight-scenario/1";

std::string quoted(const std::string& name) { return "\"" + printable(name) + "\""; }

std::size_t bounded_size(const Reader& list, std::int64_t most) {
    const std::size_t size = list.size();
    if (size > static_cast<std::size_t>(most)) {
        list.fail("must have at most " + std::to_string(most) + " entries, has " +
                  std::to_string(size));
    }
    return size;
}

/// One of a few words, as the index into them.
template <std::size_t N>
std::size_t choice(const Reader& field, const char* const (&words)[N]) {
    const std::string word = field.text();
    std::string all;
    for (std::size_t i = 0; i < N; ++i) {
        if (word == words[i]) {
            return i;
        }
        all += (i == 0 ? "" : ", ") + std::string(words[i]);
    }
    field.fail("must be one of " + all + "; is " + quoted(word));
}

/// Builds one Snapshot from one file.
class ScenarioParser {
public:
    explicit ScenarioParser(const Reader& top) : top_(top) {}

    Snapshot parse();

private:
    void parse_header();
    void parse_rules();
    void parse_nodes(const Reader& list);
    void parse_jobs(const Reader& list);
    void parse_job(const Reader& item, std::int64_t place);
    void parse_running(const Reader& field, const Job& job);
    void parse_apps(const Reader& list);
    App parse_app(const Reader& item, std::set<std::string>& names) const;

    /// [["gpu00", [0, 1]], ...]
    [[nodiscard]] std::map<int, GpuMask> parse_gpus(const Reader& list) const;
    /// Notes who holds GPUs before step 0; fails where another one holds one of them.
    void claim(const Reader& place, const std::map<int, GpuMask>& gpus,
               std::map<int, GpuMask>& held) const;

    const Reader& top_;
    Snapshot snapshot_;
    std::unordered_map<std::string, int> node_of_;
    std::unordered_set<std::string> job_ids_;
    std::map<int, GpuMask> running_gpus_; ///< of every running job
    std::map<int, GpuMask> app_gpus_;     ///< held by applications before step 0
};

void ScenarioParser::parse_header() {
    const Reader format = top_.field("format");
    if (const std::string found = format.text(); found != kFormat) {
        format.fail("must be \"" + std::string(kFormat) + "\", is " + quoted(found));
    }
    snapshot_.name = top_.field("name").text();
    if (const auto about = top_.find("about")) {
        (void)about->text();
    }
    snapshot_.step = top_.field("step_seconds").whole(1, kLongest);
    snapshot_.steps =
        static_cast<int>(top_.field("horizon_steps").whole(1, ScenarioBounds::steps));
}

void ScenarioParser::parse_rules() {
    if (const auto block = top_.find("block")) {
        static constexpr const char* words[] = {"any", "contiguous", "aligned"};
        static constexpr Block blocks[] = {Block::any, Block::contiguous, Block::aligned};
        snapshot_.block = blocks[choice(*block, words)];
    }
    if (const auto fit = top_.find("fit")) {
        static constexpr const char* words[] = {"within-horizon", "may-overrun"};
        static constexpr Fit fits[] = {Fit::within_horizon, Fit::may_overrun};
        snapshot_.fit = fits[choice(*fit, words)];
    }
    if (const auto value = top_.find("value")) {
        if (const auto end = value->find("decay_end")) {
            snapshot_.value.decay_end = end->number(0, ScenarioBounds::number);
        }
        if (const auto weight = value->find("shortfall_weight")) {
            snapshot_.value.shortfall_weight = weight->number(0, ScenarioBounds::number);
        }
    }
}

void ScenarioParser::parse_nodes(const Reader& list) {
    const std::size_t count = bounded_size(list, ScenarioBounds::nodes);
    int gpus = 0; // 100,000 nodes of 64 fit
    for (std::size_t i = 0; i < count; ++i) {
        const Reader item = list.item(i);
        const Reader name = item.field("name");
        Node node;
        node.name = name.name();
        if (!node_of_.emplace(node.name, static_cast<int>(i)).second) {
            name.fail("a node named " + quoted(node.name) + " is there already");
        }
        node.gpus = static_cast<int>(item.field("gpus").whole(0, kMaxGpusPerNode));
        node.usable = lowest_gpus(node.gpus);
        gpus += node.gpus;
        snapshot_.nodes.push_back(std::move(node));
    }
    if (gpus == 0) {
        list.fail("must have at least one GPU among them");
    }
    NodeClass& everywhere = snapshot_.classes.emplace_back();
    everywhere.nodes.resize(count);
    std::iota(everywhere.nodes.begin(), everywhere.nodes.end(), 0);
}

std::map<int, GpuMask> ScenarioParser::parse_gpus(const Reader& list) const {
    std::map<int, GpuMask> masks;
    const std::size_t count = bounded_size(list, ScenarioBounds::nodes);
    for (std::size_t i = 0; i < count; ++i) {
        const Reader pair = list.item(i);
        if (pair.size() != 2) {
            pair.fail("must be a node's name and a list of its GPUs");
        }
        const Reader name = pair.item(0);
        const auto node = node_of_.find(name.text());
        if (node == node_of_.end()) {
            name.fail("no node is named " + quoted(name.text()));
        }
        const int gpus = snapshot_.nodes[static_cast<std::size_t>(node->second)].gpus;
        const Reader numbers = pair.item(1);
        const std::size_t held = bounded_size(numbers, kMaxGpusPerNode);
        for (std::size_t k = 0; k < held; ++k) {
            const Reader number = numbers.item(k);
            const std::int64_t gpu = number.whole(0, kLongest);
            if (gpu >= gpus) {
                number.fail(quoted(node->first) + " has " + std::to_string(gpus) +
                            " GPUs, numbered from 0; there is no " + std::to_string(gpu));
            }
            const GpuMask bit = GpuMask{1} << static_cast<unsigned>(gpu);
            GpuMask& mask = masks[node->second];
            if ((mask & bit) != 0) {
                number.fail("names GPU " + std::to_string(gpu) + " of " + quoted(node->first) +
                            " twice");
            }
            mask |= bit;
        }
    }
    return masks;
}

void ScenarioParser::claim(const Reader& place, const std::map<int, GpuMask>& gpus,
                           std::map<int, GpuMask>& held) const {
    for (const auto& [node, mask] : gpus) {
        GpuMask& taken = held[node];
        if ((taken & mask) != 0) {
            const int gpu = std::countr_zero(taken & mask);
            place.fail("GPU " + std::to_string(gpu) + " of " +
                       quoted(snapshot_.nodes[static_cast<std::size_t>(node)].name) +
                       " is held by another one already");
        }
        taken |= mask;
    }
}

void ScenarioParser::parse_running(const Reader& field, const Job& job) {
    const Reader start = field.field("start_s");
    Running running;
    running.id = job.id;
    running.kind = job.kind;
    running.priority = job.priority;
    running.start = start.whole(-kLongest, 0);
    running.end = running.start + job.options.front().duration;
    if (running.end < 0) {
        start.fail("with duration_s " + std::to_string(job.options.front().duration) +
                   " the job would be over before step 0");
    }
    const Reader gpus = field.field("gpus");
    const std::map<int, GpuMask> masks = parse_gpus(gpus);
    std::int64_t count = 0;
    for (const auto& [node, mask] : masks) {
        count += std::popcount(mask);
        if (mask != 0) {
            running.shares.push_back({node, mask, 0, 0});
        }
    }
    if (const std::int64_t asked = job.options.front().request.gpus(); count != asked) {
        gpus.fail("names " + std::to_string(count) + " GPUs, the job has " +
                  std::to_string(asked));
    }
    claim(gpus, masks, running_gpus_);
    snapshot_.running.push_back(std::move(running));
}

void ScenarioParser::parse_job(const Reader& item, std::int64_t place) {
    Job job;
    const Reader id = item.field("id");
    job.id = id.name();
    if (!job_ids_.insert(job.id).second) {
        id.fail("a job with the id " + quoted(job.id) + " is there already");
    }
    if (const auto kind = item.find("class")) {
        job.kind = kind->text();
    }
    Option option;
    option.request.chunks = static_cast<int>(item.field("gpus").whole(1, ScenarioBounds::gpus));
    option.duration = item.field("duration_s").whole(1, kLongest);
    option.rank = place;
    job.key = static_cast<std::uint32_t>(place);
    job.priority = item.field("priority").number(0, ScenarioBounds::number);
    if (const auto submit = item.find("submit_s")) {
        job.submit = job.begin = submit->whole(0, kLongest);
    }
    job.options.push_back(std::move(option));
    if (const auto running = item.find("running")) {
        parse_running(*running, job);
    } else {
        snapshot_.jobs.push_back(std::move(job));
    }
}

void ScenarioParser::parse_jobs(const Reader& list) {
    const std::size_t count = bounded_size(list, ScenarioBounds::jobs);
    job_ids_.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
        parse_job(list.item(i), static_cast<std::int64_t>(i));
    }
}

App ScenarioParser::parse_app(const Reader& item, std::set<std::string>& names) const {
    App app;
    const Reader id = item.field("id");
    app.id = id.name();
    if (!names.insert(app.id).second) {
        id.fail("an application with the id " + quoted(app.id) + " is there already");
    }
    if (const auto priority = item.find("priority")) {
        app.priority = priority->number(0, ScenarioBounds::number);
    }
    if (const auto swap = item.find("max_swap")) {
        app.max_swap = swap->whole(0, kUnlimited);
    }
    const Reader demand = item.field("demand");
    if (demand.size() != static_cast<std::size_t>(snapshot_.steps)) {
        demand.fail("must have a number for each of the " + std::to_string(snapshot_.steps) +
                    " steps, has " + std::to_string(demand.size()));
    }
    app.demand.reserve(demand.size());
    for (std::size_t step = 0; step < demand.size(); ++step) {
        app.demand.push_back(
            static_cast<int>(demand.item(step).whole(0, ScenarioBounds::gpus)));
    }
    return app;
}

void ScenarioParser::parse_apps(const Reader& list) {
    const std::size_t count = bounded_size(list, ScenarioBounds::apps);
    if (static_cast<std::int64_t>(count) * snapshot_.steps > ScenarioBounds::demands) {
        list.fail("must have at most " + std::to_string(ScenarioBounds::demands) +
                  " demands together, one an application and step");
    }
    std::set<std::string> names;
    for (std::size_t i = 0; i < count; ++i) {
        const Reader item = list.item(i);
        App app = parse_app(item, names);
        if (const auto held = item.find("held")) {
            const std::map<int, GpuMask> masks = parse_gpus(*held);
            std::map<int, GpuMask> by_jobs = running_gpus_;
            claim(*held, masks, app_gpus_);
            claim(*held, masks, by_jobs);
            GpuSet& set = app.held.emplace();
            for (const auto& [node, mask] : masks) {
                if (mask != 0) {
                    set.emplace_back(node, mask);
                }
            }
        }
        snapshot_.apps.push_back(std::move(app));
    }
}

Snapshot ScenarioParser::parse() {
    top_.expect_object();
    parse_header();
    parse_rules();
    parse_nodes(top_.field("nodes"));
    parse_jobs(top_.field("jobs"));
    if (const auto apps = top_.find("realtime")) {
        parse_apps(*apps);
    }
    return std::move(snapshot_);
}

} // namespace

Snapshot parse_scenario(const std::string& text, const std::string& shown_file) {
    const Json value = parse_json(text, shown_file);
    const Reader top(value.get(), shown_file);
    return ScenarioParser(top).parse();
}

Snapshot read_scenario(const std::string& path) {
    return parse_scenario(read_file(path), shown_name(path));
}

} // namespace foresight::io
