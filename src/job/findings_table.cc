// SPDX-License-Identifier: Apache-2.0
#include "job/findings_table.h"

#include <algorithm>

#include "base/html_page.h"

namespace muster {

std::string findings_table(const std::vector<Finding>& findings) {
  if (findings.empty()) return "";
  const bool evidence =
      std::any_of(findings.begin(), findings.end(),
                  [](const Finding& one) { return !one.evidence.empty(); });
  std::string out = std::string("<table><tr><th>what</th>") +
                    (evidence ? "<th>seen</th>" : "") +
                    "<th>what to do</th></tr>";
  for (const Finding& finding : findings) {
    out += "<tr><td>" + html_text(finding.text) + "</td>";
    if (evidence) out += "<td>" + html_text(finding.evidence) + "</td>";
    out += "<td>" + html_text(finding.remedy) + "</td></tr>";
  }
  return out + "</table>";
}

}  // namespace muster
