#include "apps/block_page.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "apps/svg.h"

namespace paged {
namespace {

constexpr int kCell = 12;  // pixels, with 1 between cells
constexpr int kChartWidth = 800;
constexpr int kChartHeight = 120;

constexpr char kHead[] = R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$TITLE</title>
<style>
:root { color-scheme: light dark; --ink: #1c1c1e; --paper: #ffffff;
  --free: #ececf0; --cached: #b9bcc6; --line: #d0d0d6; --used: #3b82c4; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8e8ea; --paper: #161618;
  --free: #26262a; --cached: #55586a; --line: #3a3a40; --used: #6aa9e0; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink);
  background: var(--paper); margin: 2rem auto; max-width: 860px; padding: 0 1rem; }
h1 { font-size: 1.3rem; }
svg { display: block; max-width: 100%; height: auto; margin: .5rem 0 1rem; }
input[type=range] { width: 100%; }
table { border-collapse: collapse; margin: 1rem 0; }
td { padding: .1rem 1.5rem .1rem 0; border-bottom: 1px solid var(--line); }
td + td { text-align: right; font-variant-numeric: tabular-nums; }
.free { fill: var(--free); } .cached { fill: var(--cached); }
.shared { stroke: var(--ink); stroke-width: 1.3; }
.used { fill: var(--used); } .cursor { stroke: var(--ink); }
.axis { fill: var(--ink); font-size: 12px; opacity: .7; }
.grid { stroke: var(--line); } .end { text-anchor: end; }
@media (max-width: 600px) { .axis { font-size: 21px; } }
.key { display: inline-block; width: .8em; height: .8em; margin: 0 .3em 0 1em; }
</style></head><body>
<h1>$TITLE</h1>
)";

constexpr char kScript[] = R"(<script>
"use strict";
const cells = document.querySelectorAll("#pool rect");
const slider = document.getElementById("slider");
const words = document.getElementById("now");
const cursor = document.getElementById("cursor");
let shown = 0;
function paint(cell, value) {
  const number = value >> 1;
  cell.setAttribute("class",
    value === 0 ? "free" : value === 1 ? "cached" : value & 1 ? "shared" : "");
  cell.style.fill = number ? `hsl(${number * 137.508 % 360} 62% 52%)` : "";
  cell.firstChild.textContent = `block ${cell.dataset.b}: ` +
    (value === 0 ? "free" : value === 1 ? "cached" :
      `sequence ${number}${value & 1 ? ", shared" : ""}`);
}
function go(target) {
  if (target < shown) { cells.forEach(c => paint(c, 0)); shown = -1; }
  while (shown < target) {
    const changes = frames[++shown][6];
    for (let i = 0; i < changes.length; i += 2) {
      paint(cells[changes[i]], changes[i + 1]);
    }
  }
  const [step, used, cached, shared, wasted, fragmentation] = frames[target];
  words.textContent = `step ${step}: ${used} used, of which ${shared} shared, ` +
    `${cached} cached, ${wasted} slots wasted (${(100 * fragmentation).toFixed(1)} %)`;
  const x = frames.length > 1 ? target / (frames.length - 1) * WIDTH : 0;
  cursor.setAttribute("x1", x); cursor.setAttribute("x2", x);
}
slider.addEventListener("input", () => go(Number(slider.value)));
if (frames.length > 0) {
  // The fullest step says most.
  let fullest = 0;
  frames.forEach((f, i) => { if (f[1] > frames[fullest][1]) fullest = i; });
  slider.value = fullest; shown = -1; go(fullest);
}
</script>
</body></html>
)";

std::string SummaryTable(const ReplaySummary& s) {
  std::string text = "<table>\n";
  const auto row = [&text](const char* name, const std::string& value) {
    absl::StrAppend(&text, "<tr><td>", name, "</td><td>", value,
                    "</td></tr>\n");
  };
  const auto percent = [](double share) {
    return absl::StrFormat("%.1f %%", 100 * share);
  };
  row("blocks, tokens each",
      absl::StrCat(s.pool.num_blocks, " x ", s.pool.block_size));
  row("steps", absl::StrCat(s.num_steps));
  row("occupancy, mean and peak",
      absl::StrCat(percent(s.mean_occupancy), ", ", percent(s.peak_occupancy)));
  row("hit rate", absl::StrCat(percent(s.hit_rate), " of ", s.lookups));
  row("fragmentation, mean", percent(s.mean_fragmentation));
  row("wasted slots, mean", absl::StrFormat("%.1f", s.mean_wasted_slots));
  row("evicted, copied, forked",
      absl::StrCat(s.evicted, ", ", s.copied, ", ", s.forked));
  return text + "</table>\n";
}

// Lines at quarters of the pool, and what they and the ends stand for.
std::string Axes(const BlockReplay& replay) {
  std::string text;
  for (int quarter = 1; quarter < 4; ++quarter) {
    absl::StrAppendFormat(
        &text, "<line class=\"grid\" x2=\"%d\" y1=\"%d\" y2=\"%d\"/>\n",
        kChartWidth, kChartHeight * quarter / 4, kChartHeight * quarter / 4);
  }
  const auto& frames = replay.frames();
  absl::StrAppendFormat(
      &text,
      "<text class=\"axis\" x=\"4\" y=\"18\">%d blocks: all</text>\n"
      "<text class=\"axis\" x=\"4\" y=\"%d\">half</text>\n"
      "<text class=\"axis\" y=\"%d\">step %d</text>\n"
      "<text class=\"axis end\" x=\"%d\" y=\"%d\">step %d</text>\n",
      replay.pool().num_blocks - 1, kChartHeight / 2 - 4, kChartHeight + 19,
      frames.empty() ? 0 : frames.front().step, kChartWidth, kChartHeight + 19,
      frames.empty() ? 0 : frames.back().step);
  return text;
}

// What is held, and what is cached on top of it, as two areas.
std::string OccupancyChart(const BlockReplay& replay) {
  const auto& frames = replay.frames();
  const double blocks = static_cast<double>(replay.pool().num_blocks - 1);
  const double step =
      frames.size() > 1
          ? double{kChartWidth} / static_cast<double>(frames.size() - 1)
          : 0.0;
  std::string used, cached;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const double x = static_cast<double>(i) * step;
    const auto y = [blocks](int64_t count) {
      return kChartHeight * (1 - static_cast<double>(count) / blocks);
    };
    absl::StrAppendFormat(&used, "%.1f,%.1f ", x, y(frames[i].used));
    absl::StrAppendFormat(&cached, "%.1f,%.1f ", x,
                          y(frames[i].used + frames[i].cached));
  }
  const std::string end =
      absl::StrCat(kChartWidth, ",", kChartHeight, " 0,", kChartHeight);
  return absl::StrCat(
      "<svg viewBox=\"0 0 ", kChartWidth, " ", kChartHeight + 24,
      "\" role=\"img\" aria-label=\"occupancy over time\">\n<rect "
      "class=\"free\" "
      "width=\"",
      kChartWidth, "\" height=\"", kChartHeight,
      "\"/>\n<polygon class=\"cached\" points=\"", cached, end,
      "\"/>\n<polygon class=\"used\" points=\"", used, end,
      "\"/>\n<line id=\"cursor\" class=\"cursor\" x1=\"0\" x2=\"0\" y1=\"0\" "
      "y2=\"",
      kChartHeight, "\"/>\n", Axes(replay), "</svg>\n");
}

std::string Grid(const BlockReplay& replay) {
  const int64_t shown = std::min(kMaxShownBlocks, replay.pool().num_blocks);
  const auto columns = static_cast<int64_t>(
      std::max(16.0, std::ceil(std::sqrt(static_cast<double>(2 * shown)))));
  const int64_t rows = (shown + columns - 1) / columns;
  std::string text = absl::StrCat("<svg id=\"pool\" viewBox=\"-1 -1 ",
                                  columns * kCell + 1, " ", rows * kCell + 1,
                                  "\" role=\"img\" aria-label=\"the pool\">\n");
  for (int64_t block = 0; block < shown; ++block) {
    absl::StrAppend(&text, "<rect data-b=\"", block, "\" class=\"free\" x=\"",
                    block % columns * kCell, "\" y=\"", block / columns * kCell,
                    "\" width=\"", kCell - 1, "\" height=\"", kCell - 1,
                    "\"><title></title></rect>\n");
  }
  absl::StrAppend(&text, "</svg>\n");
  if (shown < replay.pool().num_blocks) {
    absl::StrAppend(&text, "<p>The first ", shown, " blocks of ",
                    replay.pool().num_blocks, ".</p>\n");
  }
  return text;
}

// Each frame's numbers, and what changed in the grid since the one before it.
std::string FrameData(const BlockReplay& replay) {
  std::string text = absl::StrCat("<script>const WIDTH = ", kChartWidth,
                                  ";\nconst frames = [\n");
  std::vector<int32_t> before;
  for (const ReplayFrame& frame : replay.frames()) {
    before.resize(frame.cells.size());
    absl::StrAppendFormat(&text, "[%d,%d,%d,%d,%d,%.4f,[", frame.step,
                          frame.used, frame.cached, frame.shared,
                          frame.wasted_slots, frame.fragmentation);
    const char* comma = "";
    for (std::size_t i = 0; i < frame.cells.size(); ++i) {
      if (frame.cells[i] == before[i]) continue;
      absl::StrAppend(&text, comma, i, ",", frame.cells[i]);
      comma = ",";
    }
    absl::StrAppend(&text, "]],\n");
    before = frame.cells;
  }
  return text + "];</script>\n";
}

}  // namespace

std::string BlockPage(const std::string& title, const BlockReplay& replay) {
  const std::size_t num_frames = replay.frames().size();
  return absl::StrCat(
      absl::StrReplaceAll(kHead, {{"$TITLE", Escaped(title)}}),
      "<p>How full is the pool, and whose is each block? Below, blocks that "
      "sequences hold, and on top of them those that are cached, at each step; "
      "then the pool at the step of the slider, block by block.</p>\n",
      OccupancyChart(replay),
      "<input id=\"slider\" type=\"range\" min=\"0\" max=\"",
      num_frames == 0 ? 0 : num_frames - 1,
      "\" value=\"0\" aria-label=\"step\">\n<p id=\"now\">no step</p>\n",
      Grid(replay),
      "<p>One colour per sequence, that of the first where several share a "
      "block.<span class=\"key\" style=\"outline: 2px solid\"></span>shared"
      "<span class=\"key\" style=\"background: var(--cached)\"></span>cached"
      "<span class=\"key\" style=\"background: var(--free)\"></span>free</p>\n",
      SummaryTable(replay.Summary()), FrameData(replay), kScript);
}

}  // namespace paged
