#pragma once

#include <string_view>

namespace heed::train {

/// The style sheet of a report.
inline constexpr std::string_view kReportStyle = R"css(
:root{color-scheme:light dark;--paper:#fcfcfa;--card:#fff;--ink:#1c1d20;--muted:#65676d;--line:#e4e4df;
--train:#3567c9;--validation:#c4541a;--floor:#23804f;--heat:#1c4bb0;--cell:#f1f2f4;--bad:#d11}
@media (prefers-color-scheme:dark){:root{--paper:#15171a;--card:#1c1f23;--ink:#e9eaec;--muted:#9b9fa7;--line:#30343a;
--train:#7ea8ff;--validation:#f39a5f;--floor:#5cc48d;--heat:#9dbdff;--cell:#24282e;--bad:#f66}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif}
main{max-width:1120px;margin:0 auto;padding:32px 16px 64px}
h1{font-size:1.6rem;line-height:1.25;margin:0 0 4px}
h2{font-size:1.1rem;margin:0 0 10px}
h3{font-size:.85rem;font-weight:600;margin:0 0 4px;color:var(--muted)}
.result{font-size:1.2rem;margin:0 0 24px;font-variant-numeric:tabular-nums}
.note{color:var(--muted);font-size:.875rem;margin:0 0 12px;max-width:70ch}
section{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:18px;margin:0 0 16px}
dl{display:grid;grid-template-columns:repeat(auto-fill,minmax(150px,1fr));gap:10px 20px;margin:0}
dt{color:var(--muted);font-size:.8rem}
dd{margin:0;font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
svg{display:block;max-width:100%;height:auto}
.narrow{display:none}
@media (max-width:820px){main{padding:20px 10px 48px}section{padding:14px 10px}.wide{display:none}.narrow{display:block}.narrow svg{width:100%}}
svg text{fill:var(--ink);font:12px system-ui,sans-serif}
svg .tick,svg .name{fill:var(--muted);font-variant-numeric:tabular-nums}
.grid{stroke:var(--line)}.axis{stroke:var(--muted)}
.curve{fill:none;stroke-width:2;stroke-linejoin:round}
.curve.train{stroke-width:1.5}
.train{--c:var(--train)}.validation{--c:var(--validation)}
.curve.train,.curve.validation{stroke:var(--c)}
.end{fill:var(--c);stroke:var(--card);stroke-width:1.5}
.curve.level{stroke:var(--floor);stroke-width:1.5;stroke-dasharray:6 4}
svg .level-name{fill:var(--floor)}
.legend{display:flex;flex-wrap:wrap;gap:4px 18px;margin:0 0 6px;font-size:.875rem;color:var(--muted)}
.legend i{display:inline-block;width:18px;height:3px;border-radius:2px;margin-right:7px;vertical-align:4px;background:var(--c)}
pre{margin:0;white-space:pre-wrap;overflow-wrap:anywhere;font:14px/1.55 ui-monospace,"DejaVu Sans Mono",monospace}
pre b{color:var(--train)}
details+details{margin-top:14px}
summary{cursor:pointer;font-weight:600;margin-bottom:10px}
.heads{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,420px),1fr));gap:20px}
.map{width:100%}
.map text{font:8.5px ui-monospace,"DejaVu Sans Mono",monospace;fill:var(--muted)}
.map .paper{fill:var(--cell)}
.map .ink{fill:var(--heat)}
.map rect{width:10px;height:10px}
.map rect:hover{stroke:var(--validation);stroke-width:1.5}
.map .bad{fill:var(--bad)}
)css";

}  // namespace heed::train
