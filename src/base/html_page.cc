// SPDX-License-Identifier: Apache-2.0
#include "base/html_page.h"

#include <algorithm>

namespace muster {

namespace {

constexpr size_t kMostRows = 128;  // of a heat map
constexpr int kShades = 6;

constexpr const char* kHead =
    "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">"
    "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
    "'none'; style-src 'unsafe-inline'\">";

constexpr const char* kStyle =
    "<style>:root{--ink:#1c1f24;--soft:#667085;--paper:#fff;--line:#e3e6ea;"
    "--ok:#2e9e6b;--failed:#d3383e;--stopped:#9aa3af;--lost:#b4559c;"
    "--running:#3b7dd8;--unstarted:#d9dde3;--bar0:#c9d8f0;--bar1:#dfe8f6;"
    "--heat:#d3383e}"
    "@media(prefers-color-scheme:dark){:root{--ink:#e7e9ec;--soft:#98a2b3;"
    "--paper:#15181d;--line:#2b3038;--unstarted:#3a404a;--bar0:#2c4263;"
    "--bar1:#24344d}}"
    "body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);"
    "background:var(--paper);max-width:1080px;margin:2rem auto;"
    "padding:0 1rem}"
    "h1{font-size:1.45rem;line-height:1.3;margin:.4rem 0}"
    "h2{font-size:1rem;margin:2rem 0 .5rem;"
    "border-bottom:1px solid var(--line)}"
    ".soft,footer{color:var(--soft)}footer{margin-top:2rem;"
    "font-size:13px;overflow-wrap:anywhere}"
    ".badge{display:inline-block;border-radius:4px;padding:0 .5em;"
    "color:#fff;background:var(--failed)}.badge.ok{background:var(--ok)}"
    "table{border-collapse:collapse;width:100%}"
    "td,th{text-align:left;padding:.2rem .8rem .2rem 0;vertical-align:top;"
    "border-bottom:1px solid var(--line);"
    "font-variant-numeric:tabular-nums;overflow-wrap:break-word}"
    "td.tight{white-space:nowrap}"
    "@media(max-width:48rem){table{display:block;overflow-x:auto}}"
    "th{color:var(--soft);font-weight:normal;font-size:13px}"
    "code{font-size:13px}"
    "pre{overflow:auto;padding:.7rem;border:1px solid var(--line);"
    "border-radius:4px;font-size:13px;white-space:pre-wrap;"
    "overflow-wrap:anywhere}summary{cursor:pointer}"
    "svg.timeline{width:100%;height:auto}svg text{font-size:12px;"
    "fill:var(--ink)}svg text.soft{fill:var(--soft);font-size:10px}"
    ".phase0{fill:var(--bar0)}.phase1{fill:var(--bar1)}"
    "line.lane{stroke:var(--line);stroke-width:1}"
    "line.life{stroke:var(--unstarted);stroke-width:5}"
    "line.connect{stroke:var(--bar0);stroke-width:5}"
    "line.ok,line.failed,line.stopped,line.lost{stroke-width:2}"
    "line.ok{stroke:var(--ok)}line.failed{stroke:var(--failed)}"
    "line.stopped{stroke:var(--stopped)}line.lost{stroke:var(--lost)}"
    ".grid{columns:21rem;margin-top:.7rem}"
    ".grid div{display:flex;gap:1rem;break-inside:avoid}"
    ".grid div>span:first-child{width:12rem;flex:none;overflow:hidden;"
    "text-overflow:ellipsis;white-space:nowrap}"
    ".legend span{margin-right:1.2em;white-space:nowrap}"
    "i{display:inline-block;width:12px;height:12px;margin:1px;"
    "border-radius:2px;background:var(--unstarted)}i.ok{background:var(--ok)}"
    "i.failed{background:var(--failed)}i.stopped{background:var(--stopped)}"
    "i.lost{background:var(--lost)}i.running{background:var(--running)}"
    "svg.spark{width:160px;height:32px;vertical-align:middle}"
    ".spark polyline{fill:none;stroke:var(--running);stroke-width:1.5}"
    ".spark .limit{stroke:var(--failed);stroke-width:1;stroke-dasharray:3}"
    ".heat{line-height:0;overflow-x:auto}.heat div{white-space:nowrap}"
    ".heat span{display:inline-block;width:14rem;line-height:14px;"
    "font-size:12px;overflow:hidden;text-overflow:ellipsis;"
    "vertical-align:top}"
    ".heat i{background:var(--heat)}.heat i.none{background:none;"
    "outline:1px solid var(--line);outline-offset:-1px}"
    ".h0{opacity:.08}.h1{opacity:.2}.h2{opacity:.36}.h3{opacity:.54}"
    ".h4{opacity:.75}.h5{opacity:1}"
    "</style></head><body>";

std::string number(double value) {
  const std::string text = std::to_string(value);
  return text.substr(0, text.find('.') + (value < 10 ? 3 : 2));
}

}  // namespace

std::string html_text(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else if (c == '\'') {
      out += "&#39;";
    } else if (c == '\n' || c == '\t' ||
               static_cast<unsigned char>(c) >= 0x20) {
      if (c != 0x7f) out += c;
    }
  }
  return out;
}

std::string html_page(std::string_view title, const std::string& body) {
  return std::string(kHead) + "<title>" + html_text(title) + "</title>" +
         kStyle + body + "</body></html>\n";
}

std::string heat_map_html(const HeatMap& map) {
  const size_t all = map.names.size();
  if (all < 2 || map.values.size() != all * all) return "";
  double low = -1;
  double high = -1;
  for (const double value : map.values) {
    if (value < 0) continue;
    low = low < 0 ? value : std::min(low, value);
    high = std::max(high, value);
  }
  if (high < 0) return "";
  std::string out = "<p>" + html_text(map.what) + " from row to column, " +
                    number(low) + " to " + number(high) + " " +
                    html_text(map.unit) + "; the darker the worse</p>" +
                    "<div class=\"heat\">";
  const double span = std::max(high - low, 1e-9);
  for (size_t row = 0; row < std::min(all, kMostRows); ++row) {
    out += "<div><span>" + html_text(map.names[row]) + "</span>";
    for (size_t column = 0; column < std::min(all, kMostRows); ++column) {
      const double value = map.values[row * all + column];
      const std::string pair =
          html_text(map.names[row] + " to " + map.names[column]);
      if (value < 0) {
        out += "<i class=\"none\" title=\"" + pair + ": not measured\"></i>";
        continue;
      }
      const double part = (value - low) / span;
      const double bad = map.more_is_better ? 1 - part : part;
      const int shade = std::min(static_cast<int>(bad * kShades), kShades - 1);
      out += "<i class=\"h" + std::to_string(shade) + "\" title=\"" + pair +
             ": " + number(value) + " " + html_text(map.unit) + "\"></i>";
    }
    out += "</div>";
  }
  out += "</div>";
  if (all > kMostRows) {
    out += "<p class=\"soft\">the first " + std::to_string(kMostRows) + " of " +
           std::to_string(all) + " pods</p>";
  }
  return out;
}

}  // namespace muster
