// How the page of `paged report` begins: what it looks like, light and dark.
#ifndef PAGED_APPS_REPORT_STYLE_H_
#define PAGED_APPS_REPORT_STYLE_H_

namespace paged {

// Colours of Okabe and Ito, which most eyes tell apart, darkened or lightened
// to stand out from the page.
inline constexpr char kReportHead[] = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>paged: report</title>
<style>
:root { --page: #ffffff; --ink: #1c2126; --faint: #5a6570; --grid: #dde2e7;
  --idle: #eef1f4; --v1: #0067a8; --split_k: #b84e00; --auto: #00734f;
  --thrust: #a3407c; --ceiling: #7a848e; --odd: #4d94c4; }
@media (prefers-color-scheme: dark) { :root { --page: #101418; --ink: #e4e8ec;
  --faint: #a3adb7; --grid: #2c343c; --idle: #1b2127; --v1: #58b6f0;
  --split_k: #f09a4a; --auto: #3fcf9c; --thrust: #e08bbf; --ceiling: #8d98a3;
  --odd: #2f7fb3; } }
body { background: var(--page); color: var(--ink); max-width: 66rem;
  margin: 0 auto; padding: 1rem; font: 1rem/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
p, figcaption { max-width: 46rem; } figcaption, .faint { color: var(--faint); }
figure { margin: 0; } svg { width: 100%; height: auto; display: block; }
.pair { display: grid; gap: 1.5rem;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .6rem; text-align: right; white-space: nowrap;
  border-bottom: 1px solid var(--grid); }
th { color: var(--faint); font-weight: 600; } .text { text-align: left; }
td.words { white-space: normal; overflow-wrap: anywhere; }
.chosen { font-weight: 700; } td.v1 { color: var(--v1); }
td.split_k { color: var(--split_k); }
.tick, .label { fill: var(--faint); font: 12px system-ui, sans-serif; }
.grid { stroke: var(--grid); } .idle { fill: var(--idle); }
.line path { fill: none; stroke-width: 2; }
.tier-v1 { stroke: var(--v1); fill: var(--v1); }
.tier-split_k { stroke: var(--split_k); fill: var(--split_k);
  stroke-dasharray: 6 3; }
.tier-auto { stroke: var(--auto); fill: none; stroke-width: 1.6; }
.tier-thrust { stroke: var(--thrust); fill: var(--thrust);
  stroke-dasharray: 8 3 2 3; }
.tier-ceiling { stroke: var(--ceiling); fill: var(--ceiling); }
circle { stroke-dasharray: none; } .even { fill: var(--v1); }
.odd { fill: var(--odd); } .reduction { fill: var(--split_k); }
</style>
</head>
<body>
)";

}  // namespace paged

#endif  // PAGED_APPS_REPORT_STYLE_H_
