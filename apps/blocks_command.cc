#include "apps/blocks_command.h"

#include <fstream>
#include <memory>
#include <optional>
#include <ostream>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "apps/block_page.h"
#include "apps/block_replay.h"
#include "apps/block_scenarios.h"
#include "apps/cli.h"
#include "apps/flags.h"
#include "apps/out_file.h"
#include "nlohmann/json.hpp"
#include "paged/block_events.h"
#include "paged/internal/status_macros.h"

namespace paged {
namespace {

constexpr char kAbout[] =
    R"(paged blocks replay: what a block manager did, step by step

  paged blocks replay --scenario=chat --html=chat.html
  paged blocks replay FILE

FILE is a log of events, one JSON object per line, as an engine writes it with
paged/block_events.h; a scenario is traffic that is made up on the spot:

)";

std::vector<std::string> ScenarioNames() {
  std::vector<std::string> names;
  for (const BlockScenario& scenario : BlockScenarios()) {
    names.push_back(scenario.name);
  }
  return names;
}

FlagTable ReplayFlagTable() {
  return {{"scenario", "chat|beams|speech|churn", "instead of FILE"},
          {"steps", "N", "of the scenario, 1 to 100000 (300)"},
          {"seed", "N", "of the scenario (1)"},
          {"html", "FILE", "writes a page that shows the pool over time"},
          {"log", "FILE", "writes the scenario's log"},
          {"json", "", "the summary as one JSON object"},
          {"help", "", "this text"}};
}

std::string HelpText() {
  std::string text = kAbout;
  for (const BlockScenario& scenario : BlockScenarios()) {
    absl::StrAppendFormat(&text, "  %-8s %s\n", scenario.name, scenario.about);
  }
  return absl::StrCat(text, "\nFlags, with their defaults in brackets:\n",
                      DescribeFlags(ReplayFlagTable()));
}

absl::StatusOr<BlockReplay> ReplayFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return absl::NotFoundError(
        absl::StrCat(Printable(path), " cannot be read"));
  }
  std::optional<BlockReplay> replay;
  const absl::Status status = ReadBlockLog(
      file,
      [&](const LogPool& pool) {
        replay.emplace(pool);
        return absl::OkStatus();
      },
      [&](const BlockEvent& event) { return replay->Apply(event); });
  if (!status.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(Printable(path), ", ", status.message()));
  }
  return *std::move(replay);
}

absl::StatusOr<BlockReplay> ReplayScenario(const std::string& name,
                                           const Flags& flags) {
  PAGED_ASSIGN_OR_RETURN(const std::optional<int> steps,
                         flags.Int("steps", {1, 100000}));
  PAGED_ASSIGN_OR_RETURN(const std::optional<int> seed,
                         flags.Int("seed", {0, 1 << 30}));
  std::optional<BlockReplay> replay;
  std::string log;
  const bool has_log = flags.Text("log").has_value();
  PAGED_RETURN_IF_ERROR(RunBlockScenario(
      name, steps.value_or(300), seed.value_or(1),
      [&](const BlockManagerOptions& options) {
        replay.emplace(LogPool{.num_blocks = options.num_blocks,
                               .block_size = options.block_size,
                               .num_rows = options.max_seqs});
        if (has_log) log += PoolLine(options);
        return absl::OkStatus();
      },
      [&](const BlockEvent& event) {
        if (has_log) log += EventLine(event);
        return replay->Apply(event);
      }));
  if (has_log) PAGED_RETURN_IF_ERROR(WriteOutFile(*flags.Text("log"), log));
  return *std::move(replay);
}

std::string TableOf(const ReplaySummary& s) {
  return absl::StrFormat(
      "pool             %d blocks of %d tokens; at the end %d used, %d cached, "
      "%d free\n"
      "steps            %d, of %d rows that were opened\n"
      "occupancy        %.1f %% in the mean, %.1f %% at its peak; cached %.1f "
      "%%\n"
      "hit rate         %.1f %% of %d blocks that were looked for\n"
      "fragmentation    %.1f %% of the slots of sequences, %.1f wasted slots "
      "in "
      "the mean\n"
      "shared           %d blocks at the peak\n"
      "events           %d stored, %d evicted, %d forked, %d copied, %d "
      "cleared\n",
      s.pool.num_blocks, s.pool.block_size, s.used, s.cached, s.free,
      s.num_steps, s.num_opened, 100 * s.mean_occupancy, 100 * s.peak_occupancy,
      100 * s.mean_cached, 100 * s.hit_rate, s.lookups,
      100 * s.mean_fragmentation, s.mean_wasted_slots, s.peak_shared, s.stored,
      s.evicted, s.forked, s.copied, s.cleared);
}

std::string JsonOf(const ReplaySummary& s) {
  const nlohmann::ordered_json json = {
      {"blocks", s.pool.num_blocks},
      {"block_size", s.pool.block_size},
      {"steps", s.num_steps},
      {"opened", s.num_opened},
      {"mean_occupancy", s.mean_occupancy},
      {"peak_occupancy", s.peak_occupancy},
      {"mean_cached", s.mean_cached},
      {"lookups", s.lookups},
      {"hits", s.hits},
      {"hit_rate", s.hit_rate},
      {"mean_fragmentation", s.mean_fragmentation},
      {"mean_wasted_slots", s.mean_wasted_slots},
      {"peak_shared", s.peak_shared},
      {"stored", s.stored},
      {"evicted", s.evicted},
      {"forked", s.forked},
      {"copied", s.copied},
      {"cleared", s.cleared},
      {"used", s.used},
      {"cached", s.cached},
      {"free", s.free}};
  return json.dump() + "\n";
}

absl::Status CheckUse(const Flags& flags) {
  const bool has_scenario = flags.Text("scenario").has_value();
  const std::size_t num_files = flags.positional().size();
  if (num_files + (has_scenario ? 1 : 0) != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("replay needs one FILE, or --scenario; got ", num_files,
                     " files", has_scenario ? " and a scenario" : ""));
  }
  for (const char* flag : {"steps", "seed", "log"}) {
    if (!has_scenario && flags.Text(flag).has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--", flag, " is for --scenario"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<int> BlocksCommand(const std::vector<std::string>& args,
                                  std::ostream& out, std::ostream&) {
  std::vector<std::string> rest = args;
  const bool is_replay = !args.empty() && args.front() == "replay";
  if (is_replay) rest.erase(rest.begin());
  PAGED_ASSIGN_OR_RETURN(const Flags flags,
                         Flags::Parse(ReplayFlagTable(), rest));
  if (flags.IsOn("help")) {
    out << HelpText();
    return kExitPassed;
  }
  if (!is_replay) {
    return absl::InvalidArgumentError(
        absl::StrCat("the word replay is needed; got ",
                     args.empty() ? "nothing" : Printable(args.front())));
  }
  PAGED_RETURN_IF_ERROR(CheckUse(flags));
  PAGED_ASSIGN_OR_RETURN(const std::optional<std::string> scenario,
                         flags.OneOf("scenario", ScenarioNames()));
  for (const char* flag : {"html", "log"}) {
    if (const auto path = flags.Text(flag); path.has_value()) {
      PAGED_RETURN_IF_ERROR(CheckWritable(flag, *path));
    }
  }
  const std::string name =
      scenario.has_value() ? *scenario : flags.positional().front();
  PAGED_ASSIGN_OR_RETURN(
      const BlockReplay replay,
      scenario.has_value() ? ReplayScenario(name, flags) : ReplayFile(name));
  if (flags.Text("html").has_value()) {
    PAGED_RETURN_IF_ERROR(WriteOutFile(
        *flags.Text("html"),
        BlockPage(absl::StrCat("Blocks of a pool: ", name), replay)));
  }
  out << (flags.IsOn("json") ? JsonOf(replay.Summary())
                             : TableOf(replay.Summary()));
  return kExitPassed;
}

}  // namespace paged
