/*
 * Settings: see settings.hpp.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "settings.hpp"

#include "conf_text.hpp"
#include "error.hpp"
#include "text.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

namespace foresight::io {

namespace {

/// Where a table's value goes.
template <class T> using Slot = std::function<void(T&, OptionValue&&)>;

template <class T> struct Entry {
    Option option;
    Slot<T> slot;
};

/// The slot of a plain member.
template <class T, class V> Slot<T> to(V T::*member) {
    return [member](T& target, OptionValue&& value) {
        target.*member = std::get<V>(std::move(value));
    };
}

template <class T> Slot<T> to_match(std::vector<std::string> JobMatch::*member) {
    return [member](T& target, OptionValue&& value) {
        target.match.*member = std::get<std::vector<std::string>>(std::move(value));
    };
}

constexpr double kDay = 86400;
constexpr double kMostGpus = 1'000'000;

// The whole file.
const std::vector<Entry<Settings>>& main_table() {
    using S = Settings;
    using K = OptionKind;
    static const std::vector<Entry<S>> table{
        {{"Mode", K::choice, "shadow|active", 0, 0, "shadow",
          "shadow: Slurm's own backfill schedules, the plan is only published in files. "
          "active: the plan starts the jobs."},
         to(&S::mode)},
        {{"Horizon", K::duration, "", 60, 60 * kDay, "1-00", "How far ahead the queue is planned."},
         to(&S::horizon)},
        {{"Step", K::duration, "", 1, kDay, "00:15:00",
          "The grid of demand curves and of the value that decays; starts of jobs are not bound "
          "to it. At most 10000 steps make a horizon."},
         to(&S::step)},
        {{"Interval", K::duration, "", 1, 3600, "00:00:30",
          "A full look at the cluster at least so often; events wake the planner at once."},
         to(&S::interval)},
        {{"PlanBudget", K::milliseconds, "", 0, 60000, "200",
          "Time that the search for a better plan may take beside the first one."},
         to(&S::plan_budget_ms)},
        {{"PlanOverrun", K::milliseconds, "", 100, 600000, "10000",
          "A plan that takes longer has failed; at least PlanBudget."},
         to(&S::plan_overrun_ms)},
        {{"MaxFailures", K::whole, "", 1, 1000, "3",
          "Failed plans in a row before Slurm's backfill takes over, until planning works again."},
         to(&S::max_failures)},
        {{"MaxStarts", K::whole, "", 1, 10000, "50",
          "Most jobs started in one hold of slurmctld's locks."},
         to(&S::max_starts)},
        {{"EndGrace", K::duration, "", 0, kDay, "00:01:00",
          "From a job's time limit to the return of its resources, beside OverTimeLimit and "
          "KillWait: slurmctld looks every 30 seconds, and an epilog takes its time."},
         to(&S::end_grace)},
        {{"WeightDoublesAfter", K::duration, "", 0, 366 * kDay, "1-00",
          "A waiting job's weight counts double after so long, three times after twice that; 0 "
          "for never. Without Weight= lines the order is Slurm's and this has no effect."},
         to(&S::weight_doubles_after)},
        {{"MoveGain", K::number, "", 0, 1000, "5",
          "An announced start moves back only where the plan gains more than so many percent of "
          "what the job is worth, and twice as many each further time. Without Weight= lines the "
          "order is Slurm's and this has no effect."},
         to(&S::move_gain)},
        {{"PublishDir", K::path, "", 0, 0, "",
          "Directory of plan.jsonl and metrics.prom, an absolute path; made when missing, its "
          "parent must exist. Without it: foresight in Slurm's StateSaveLocation."},
         to(&S::publish_dir)},
    };
    return table;
}

// One Realtime= line.
const std::vector<Entry<RealtimeSettings>>& realtime_table() {
    using R = RealtimeSettings;
    using K = OptionKind;
    static const std::vector<Entry<R>> table{
        {{"Realtime", K::word, "", 0, 0, "", "Name of a real-time application. Needs QOS, "
          "Partition, Account, Tag or Reservation, and a demand. Where several lines match a job, "
          "the first one has it."},
         to(&R::name)},
        {{"Reservation", K::word, "", 0, 0, "",
          "Instead of those: a reservation of whole nodes, made at the size of the peak. Its idle "
          "nodes are lent, each until the curve needs it again."},
         to(&R::reservation)},
        {{"QOS", K::names, "", 0, 0, "", "Its jobs have one of these QOS."},
         to_match<R>(&JobMatch::qos)},
        {{"Partition", K::names, "", 0, 0, "", "Its jobs are in one of these partitions."},
         to_match<R>(&JobMatch::partitions)},
        {{"Account", K::names, "", 0, 0, "", "Its jobs have one of these accounts."},
         to_match<R>(&JobMatch::accounts)},
        {{"Tag", K::names, "", 0, 0, "",
          "A word of its jobs' --comment. Users write those: combine it with QOS, Partition or "
          "Account where that matters."},
         to_match<R>(&JobMatch::tags)},
        {{"Priority", K::number, "", 0, 1e6, "1", "What its demand is worth, beside Weight=."},
         to(&R::priority)},
        {{"MaxSwap", K::whole, "", 0, kMostGpus, "",
          "Most GPUs gained plus given up from one step to the next; without it any number."},
         to(&R::max_swap)},
        {{"Demand", K::choice, "none|file|static|prometheus|history", 0, 0, "none",
          "file: the curve in File=. static: always Gpus=. prometheus: what Query= gives at Url=, "
          "now and in the past. history: the GPUs that its own jobs hold and held, which needs "
          "nothing else. Follows from File=, Gpus= or Query= when left out."},
         to(&R::demand)},
        {{"File", K::path, "", 0, 0, "",
          "CSV with the header time,gpus; a relative path is taken from foresight.conf's folder. "
          "Read again when it changes."},
         to(&R::file)},
        {{"Gpus", K::whole, "", 0, kMostGpus, "0", "GPUs wanted at all times (Demand=static)."},
         to(&R::gpus)},
        {{"Url", K::url, "", 0, 0, "",
          "Where the Prometheus server is, or one that speaks its HTTP API: "
          "https://prometheus.example:9090. Demand=prometheus needs it."},
         to(&R::url)},
        {{"Query", K::text, "", 0, 0, "",
          "PromQL that gives one series, in double quotes when it has spaces; labels then in "
          "single ones: \"sum(rate(requests_total{app='chat'}[5m]))\". Demand=prometheus needs "
          "it."},
         to(&R::query)},
        {{"QueryStep", K::duration, "", 60, 3600, "00:10:00",
          "Distance of the values of its past that are asked for and learnt from."},
         to(&R::query_step)},
        {{"Past", K::duration, "", kDay, 366 * kDay, "28-00",
          "How far back its past is asked for, at most 50000 times QueryStep, and kept with "
          "Demand=history."},
         to(&R::past)},
        {{"CaFile", K::path, "", 0, 0, "",
          "Certificates in PEM that an https server's is checked against; without it the "
          "system's."},
         to(&R::ca_file)},
        {{"TokenFile", K::path, "", 0, 0, "",
          "File with a bearer token for the server, for SlurmUser alone to read; read again at "
          "each request."},
         to(&R::token_file)},
        {{"Timeout", K::duration, "", 1, 300, "00:00:10",
          "A request without a whole answer after this has failed."},
         to(&R::timeout)},
        {{"FetchInterval", K::duration, "", 1, 3600, "00:00:30", "How often the level now is asked for."},
         to(&R::fetch_interval)},
        {{"StaleAfter", K::duration, "", 10, 7 * kDay, "00:15:00",
          "While there is no good value, the present size stays; so long after the last one "
          "MaxGpus are kept. Longer than FetchInterval."},
         to(&R::stale_after)},
        {{"Quantile", K::number, "", 0.5, 0.9999, "0.99",
          "How sure to be that the next window's demand is no more than what is kept, where it is "
          "forecast. More lends less and misses less."},
         to(&R::quantile)},
        {{"LeadTime", K::duration, "", 0, kDay, "0",
          "GPUs are kept so long before demand needs them: the time to load a model."},
         to(&R::lead_time)},
        {{"HoldTime", K::duration, "", 0, kDay, "",
          "GPUs are kept so long after demand needed them, against flapping; without it 10 minutes "
          "where demand is measured, and no time along a curve that is known."},
         to(&R::hold_time)},
        {{"UnitsPerGpu", K::number, "", 1e-9, 1e15, "1",
          "How much of what Query= gives one GPU serves: requests a second, sessions. The GPUs are "
          "rounded up."},
         to(&R::units_per_gpu)},
        {{"Headroom", K::number, "", 0, 1000, "0", "Percent that are added to the demand."},
         to(&R::headroom)},
        {{"MinGpus", K::whole, "", 0, kMostGpus, "0",
          "Never keep fewer, whatever the demand. Only a demand of 0 comes down to it."},
         to(&R::min_gpus)},
        {{"MaxGpus", K::whole, "", 0, kMostGpus, "1000000",
          "Never keep more. Kept whole while a curve has never been readable and when a demand is "
          "stale: the size that a static reservation would have. Demand=prometheus and history need "
          "it."},
         to(&R::max_gpus)},
        {{"CpusPerGpu", K::whole, "", 0, 100000, "",
          "CPUs kept with each GPU; without it a node's CPUs divided by its GPUs."},
         to(&R::cpus_per_gpu)},
        {{"MemPerGpu", K::memory, "", 0, 1e9, "",
          "Memory kept with each GPU; without it a node's memory divided by its GPUs."},
         to(&R::mem_per_gpu)},
        {{"HoldPartition", K::word, "", 0, 0, "",
          "GPUs are kept on nodes of this partition; without it on those of Partition= when that "
          "is one, else on any."},
         to(&R::hold_partition)},
        {{"OnFailure", K::choice, "backfill|wait", 0, 0, "backfill",
          "When planning fails for long: backfill lets Slurm's backfill start jobs on the GPUs "
          "that were kept; wait starts none until planning works."},
         to(&R::on_failure)},
    };
    return table;
}

// One Weight= line.
const std::vector<Entry<WeightSettings>>& weight_table() {
    using W = WeightSettings;
    using K = OptionKind;
    static const std::vector<Entry<W>> table{
        {{"Weight", K::number, "", 0, 1e6, "",
          "What a GPU of a matching job is worth for a second. The first line that matches "
          "counts; 1 for jobs that none matches. With any such line the plan's order is by value, "
          "not Slurm's."},
         to(&W::weight)},
        {{"Kind", K::word, "", 0, 0, "", "What such jobs are called in reports: training, batch."},
         to(&W::kind)},
        {{"QOS", K::names, "", 0, 0, "", "Jobs with one of these QOS."},
         to_match<W>(&JobMatch::qos)},
        {{"Partition", K::names, "", 0, 0, "", "Jobs in one of these partitions."},
         to_match<W>(&JobMatch::partitions)},
        {{"Account", K::names, "", 0, 0, "", "Jobs of one of these accounts."},
         to_match<W>(&JobMatch::accounts)},
        {{"User", K::names, "", 0, 0, "", "Jobs of one of these users."},
         to_match<W>(&JobMatch::users)},
    };
    return table;
}

template <class T> const Entry<T>* find_entry(const std::vector<Entry<T>>& table,
                                              std::string_view key) {
    const auto found = std::find_if(table.begin(), table.end(), [&](const Entry<T>& entry) {
        return equal_nocase(entry.option.key, key);
    });
    return found == table.end() ? nullptr : &*found;
}

template <class T> void set_defaults(const std::vector<Entry<T>>& table, T& target) {
    for (const Entry<T>& entry : table) {
        if (*entry.option.initial != '\0') {
            entry.slot(target, parse_option(entry.option, entry.option.initial));
        }
    }
}

template <class T> void add_keys(const std::vector<Entry<T>>& table,
                                 std::vector<std::string>& keys) {
    for (const Entry<T>& entry : table) {
        keys.emplace_back(entry.option.key);
    }
}

/// Reads a file line by line and gathers what is wrong.
class SettingsParser {
public:
    explicit SettingsParser(const std::string& shown_file) : file_(shown_file) {}

    Settings parse(const std::string& text);
    [[nodiscard]] const std::vector<std::string>& problems() const noexcept { return problems_; }

private:
    void parse_line(const ConfLine& line);
    void parse_single(const ConfLine& line);
    void parse_realtime(const ConfLine& line);
    void parse_weight(const ConfLine& line);
    void check_realtime(RealtimeSettings& app, const std::set<std::string>& given);
    void check_measured(const RealtimeSettings& app, const std::set<std::string>& given);
    void check_whole();
    void unknown_key(int line, const std::string& key);

    /// Reads all pairs of a composite line; the keys that were given, in lower case.
    template <class T>
    std::set<std::string> parse_pairs(const ConfLine& line, const std::vector<Entry<T>>& table,
                                      T& target);

    void complain(int line, const std::string& what) {
        problems_.push_back(file_ + ":" + std::to_string(line) + ": " + what);
    }

    const std::string& file_;
    Settings settings_;
    std::map<std::string, int> line_of_; ///< of each single option given, in lower case
    std::vector<std::string> problems_;
};

void SettingsParser::unknown_key(int line, const std::string& key) {
    std::vector<std::string> keys;
    add_keys(main_table(), keys);
    add_keys(realtime_table(), keys);
    add_keys(weight_table(), keys);
    std::string what = printable(key) + ": unknown key";
    if (const auto* entry = find_entry(realtime_table(), key)) {
        what = std::string(entry->option.key) + ": belongs on a line that starts with Realtime=" +
               (find_entry(weight_table(), key) != nullptr ? " or Weight=" : "");
    } else if (const auto* other = find_entry(weight_table(), key)) {
        what = std::string(other->option.key) + ": belongs on a line that starts with Weight=";
    } else if (find_entry(main_table(), key) != nullptr) {
        what = printable(key) + ": belongs on a line of its own";
    } else if (const auto near = nearest(key, keys)) {
        what += " (did you mean " + *near + "?)";
    }
    complain(line, what);
}

template <class T>
std::set<std::string> SettingsParser::parse_pairs(const ConfLine& line,
                                                  const std::vector<Entry<T>>& table, T& target) {
    std::set<std::string> given;
    set_defaults(table, target);
    for (const ConfPair& pair : line.pairs) {
        const Entry<T>* entry = find_entry(table, pair.key);
        if (entry == nullptr) {
            unknown_key(line.number, pair.key);
            continue;
        }
        if (!given.insert(lower(pair.key)).second) {
            complain(line.number, std::string(entry->option.key) + ": given twice on this line");
            continue;
        }
        try {
            entry->slot(target, parse_option(entry->option, pair.value));
        } catch (const InputError& error) {
            complain(line.number, std::string(entry->option.key) + ": " + error.what());
        }
    }
    return given;
}

void SettingsParser::parse_single(const ConfLine& line) {
    const ConfPair& pair = line.pairs.front();
    const Entry<Settings>* entry = find_entry(main_table(), pair.key);
    if (entry == nullptr) {
        unknown_key(line.number, pair.key);
        return;
    }
    const auto [earlier, first] = line_of_.emplace(lower(pair.key), line.number);
    if (!first) {
        complain(line.number, std::string(entry->option.key) + ": given twice, first on line " +
                                  std::to_string(earlier->second));
        return;
    }
    if (line.pairs.size() > 1) {
        complain(line.number, std::string(entry->option.key) + ": one option a line; \"" +
                                  printable(line.pairs[1].key) + "=\" follows it");
        return;
    }
    try {
        entry->slot(settings_, parse_option(entry->option, pair.value));
    } catch (const InputError& error) {
        complain(line.number, std::string(entry->option.key) + ": " + error.what());
    }
}

void SettingsParser::check_realtime(RealtimeSettings& app, const std::set<std::string>& given) {
    const auto wrong = [&](const std::string& key, const std::string& what) {
        complain(app.line, key + ": " + what);
    };
    if (app.match.empty() && app.reservation.empty()) {
        wrong("Realtime", "needs QOS=, Partition=, Account= or Tag= to know its jobs, or "
                          "Reservation=");
    }
    if (!app.reservation.empty()) {
        if (!app.match.empty()) {
            wrong("Reservation", "its jobs are those that run in it: leave out QOS=, Partition=, "
                                 "Account= and Tag=");
        }
        for (const char* key : {"holdpartition", "cpuspergpu", "mempergpu", "onfailure"}) {
            if (given.count(key) != 0) {
                wrong("Reservation", std::string("whole nodes are held: leave out ") +
                                         find_entry(realtime_table(), key)->option.key + "=");
            }
        }
        for (const RealtimeSettings& other : settings_.realtime) {
            if (other.reservation == app.reservation) {
                wrong("Reservation", app.reservation + " is lent from on line " +
                                         std::to_string(other.line) + " already");
            }
        }
    }
    auto source = static_cast<DemandSource>(app.demand);
    if (given.count("demand") == 0) {
        source = given.count("file") != 0   ? DemandSource::file
                 : given.count("gpus") != 0 ? DemandSource::constant
                 : given.count("query") != 0 ? DemandSource::prometheus
                                            : DemandSource::none;
        app.demand = static_cast<std::int64_t>(source);
    }
    if (source == DemandSource::none && given.count("demand") == 0) {
        wrong("Realtime", "needs a demand: Demand=file File=..., Demand=static Gpus=..., "
                          "Demand=prometheus Url=... Query=..., Demand=history or Demand=none");
    }
    if ((source == DemandSource::file) != !app.file.empty()) {
        wrong("File", source == DemandSource::file ? "Demand=file needs it"
                                                   : "goes with Demand=file only");
    }
    if ((source == DemandSource::constant) != (given.count("gpus") != 0)) {
        wrong("Gpus", source == DemandSource::constant ? "Demand=static needs it"
                                                       : "goes with Demand=static only");
    }
    check_measured(app, given);
    if (!app.reservation.empty() && source == DemandSource::history) {
        wrong("Demand", "history counts the jobs that QOS=, Partition=, Account= or Tag= match: "
                        "with Reservation= use file, static or prometheus");
    }
    if (app.min_gpus > app.max_gpus) {
        wrong("MinGpus", "must not be above MaxGpus");
    }
    if (given.count("maxswap") == 0) {
        app.max_swap = kUnlimited;
    }
    if (given.count("holdtime") == 0) {
        app.hold_time = is_measured(source) ? 600 : 0;
    }
    if (given.count("cpuspergpu") == 0) {
        app.cpus_per_gpu = -1;
    }
    if (given.count("mempergpu") == 0) {
        app.mem_per_gpu = -1;
    }
    if (app.hold_partition.empty() && app.match.partitions.size() == 1) {
        app.hold_partition = app.match.partitions.front();
    }
}

/// The keys of demand that is measured: those it needs, and that they stand nowhere else.
void SettingsParser::check_measured(const RealtimeSettings& app,
                                    const std::set<std::string>& given) {
    constexpr Seconds most_windows = 50'000;
    const auto wrong = [&](const std::string& key, const std::string& what) {
        complain(app.line, key + ": " + what);
    };
    const auto source = static_cast<DemandSource>(app.demand);
    const bool asked = source == DemandSource::prometheus;
    for (const char* key : {"Url", "Query"}) {
        if (asked && given.count(lower(key)) == 0) {
            wrong(key, "Demand=prometheus needs it");
        }
    }
    if (is_measured(source) && given.count("maxgpus") == 0) {
        wrong("MaxGpus", std::string("Demand=") + (asked ? "prometheus" : "history") +
                             " needs it, to keep while nothing is known");
    }
    for (const char* key : {"Url", "Query", "QueryStep", "CaFile", "TokenFile", "Timeout",
                            "FetchInterval", "StaleAfter", "UnitsPerGpu"}) {
        if (!asked && given.count(lower(key)) != 0) {
            wrong(key, "goes with Demand=prometheus only");
        }
    }
    for (const char* key : {"Past", "Quantile"}) {
        if (!is_measured(source) && given.count(lower(key)) != 0) {
            wrong(key, "goes with Demand=prometheus or history only");
        }
    }
    if (app.past / app.query_step > most_windows) {
        wrong("Past", "is more than " + std::to_string(most_windows) + " times QueryStep");
    }
    if (app.stale_after <= app.fetch_interval) {
        wrong("StaleAfter", "must be longer than FetchInterval");
    }
}

void SettingsParser::parse_realtime(const ConfLine& line) {
    constexpr std::size_t most = 64;
    RealtimeSettings app;
    const std::size_t before = problems_.size();
    const std::set<std::string> given = parse_pairs(line, realtime_table(), app);
    app.line = line.number;
    if (problems_.size() == before) {
        check_realtime(app, given);
    }
    for (const RealtimeSettings& other : settings_.realtime) {
        if (equal_nocase(other.name, app.name)) {
            complain(line.number, "Realtime: " + app.name + " is there already, on line " +
                                      std::to_string(other.line));
        }
    }
    if (settings_.realtime.size() == most) {
        complain(line.number, "Realtime: more than " + std::to_string(most) + " applications");
        return;
    }
    settings_.realtime.push_back(std::move(app));
}

void SettingsParser::parse_weight(const ConfLine& line) {
    constexpr std::size_t most = 1000;
    WeightSettings weight;
    (void)parse_pairs(line, weight_table(), weight);
    weight.line = line.number;
    if (settings_.weights.size() == most) {
        complain(line.number, "Weight: more than " + std::to_string(most) + " lines");
        return;
    }
    settings_.weights.push_back(std::move(weight));
}

void SettingsParser::parse_line(const ConfLine& line) {
    const auto operation = std::find_if(line.pairs.begin(), line.pairs.end(),
                                        [](const ConfPair& pair) { return pair.operation != 0; });
    if (line.pairs.empty()) {
        complain(line.number, "must be Key=Value; is \"" + printable(line.whole) + "\"");
    } else if (!line.rest.empty()) {
        complain(line.number, printable(line.pairs.back().key) + ": trailing junk \"" +
                                  printable(line.rest) + "\" (quote values that have spaces)");
    } else if (operation != line.pairs.end()) {
        complain(line.number, printable(operation->key) + ": \"" + operation->operation +
                                  "=\" has no meaning here; write =");
    } else if (equal_nocase(line.pairs.front().key, "Realtime")) {
        parse_realtime(line);
    } else if (equal_nocase(line.pairs.front().key, "Weight")) {
        parse_weight(line);
    } else {
        parse_single(line);
    }
}

/// What concerns several options; told at the line of one that was given.
void SettingsParser::check_whole() {
    constexpr Seconds most_steps = 10000;
    const auto complain_at = [&](const char* key, const char* other, const std::string& what) {
        const auto at = line_of_.count(lower(key)) != 0 ? line_of_.find(lower(key))
                                                        : line_of_.find(lower(other));
        complain(at == line_of_.end() ? 1 : at->second, std::string(key) + ": " + what);
    };
    if (settings_.step > settings_.horizon) {
        complain_at("Step", "Horizon", "must not be longer than Horizon");
    } else if (settings_.horizon / settings_.step > most_steps) {
        complain_at("Step", "Horizon", "makes more than " + std::to_string(most_steps) +
                                           " steps of Horizon");
    }
    if (settings_.plan_overrun_ms < settings_.plan_budget_ms) {
        complain_at("PlanOverrun", "PlanBudget", "must not be below PlanBudget");
    }
    if (!settings_.publish_dir.empty() && settings_.publish_dir.front() != '/') {
        complain_at("PublishDir", "PublishDir", "must be an absolute path");
    }
}

Settings SettingsParser::parse(const std::string& text) {
    settings_ = default_settings();
    if (const std::size_t zero = text.find('\0'); zero != std::string::npos) {
        complain(1 + static_cast<int>(std::count(text.begin(), text.begin() +
                                                 static_cast<std::ptrdiff_t>(zero), '\n')),
                 "a byte 0: this is no text file");
        return settings_;
    }
    for (const ConfLine& line : parse_conf_text(text)) {
        parse_line(line);
    }
    if (problems_.empty()) {
        check_whole();
    }
    return std::move(settings_);
}

bool any_equal(const std::vector<std::string>& wanted, std::string_view found, bool nocase) {
    return std::any_of(wanted.begin(), wanted.end(), [&](const std::string& one) {
        return nocase ? equal_nocase(one, found) : one == found;
    });
}

/// A word of a comment: what stands between spaces, commas and semicolons.
bool has_word(std::string_view comment, const std::vector<std::string>& wanted) {
    constexpr std::string_view separators = " \t\r\n,;";
    while (!comment.empty()) {
        const std::size_t end = std::min(comment.find_first_of(separators), comment.size());
        if (end > 0 && any_equal(wanted, comment.substr(0, end), false)) {
            return true;
        }
        comment.remove_prefix(std::min(end + 1, comment.size()));
    }
    return false;
}

} // namespace

bool matches(const JobMatch& match, const JobFacts& job) {
    // Accounts and QOS are case-insensitive in Slurm's database, partitions and users are not.
    return (match.qos.empty() || any_equal(match.qos, job.qos, true)) &&
           (match.accounts.empty() || any_equal(match.accounts, job.account, true)) &&
           (match.users.empty() || any_equal(match.users, job.user, false)) &&
           (match.partitions.empty() || has_word(job.partition, match.partitions)) &&
           (match.tags.empty() || has_word(job.comment, match.tags));
}

Settings default_settings() {
    Settings settings;
    set_defaults(main_table(), settings);
    return settings;
}

Settings parse_settings(const std::string& text, const std::string& shown_file) {
    SettingsParser parser(shown_file);
    Settings settings = parser.parse(text);
    if (!parser.problems().empty()) {
        throw InputError(parser.problems().front());
    }
    return settings;
}

std::vector<std::string> settings_problems(const std::string& text,
                                           const std::string& shown_file) {
    SettingsParser parser(shown_file);
    (void)parser.parse(text);
    return parser.problems();
}

std::vector<OptionGroup> option_groups() {
    const auto group = [](const char* title, const auto& table) {
        OptionGroup made{title, {}};
        for (const auto& entry : table) {
            made.options.push_back(&entry.option);
        }
        return made;
    };
    return {group("Options, one a line", main_table()),
            group("Keys of a Realtime= line", realtime_table()),
            group("Keys of a Weight= line", weight_table())};
}

} // namespace foresight::io
