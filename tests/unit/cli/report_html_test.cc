// SPDX-License-Identifier: Apache-2.0
#include "launcher/report/report_html.h"

#include "base/html_page.h"
#include "catch.h"
#include "job/findings_table.h"
#include "launcher/report/report_charts.h"
#include "launcher/report/report_topology.h"

using namespace muster;

namespace {

RankEvidence rank(int number, int wait_status) {
  RankEvidence out;
  out.rank = number;
  out.node = 1 + number / 8;
  out.host = "pi-worker-" + std::to_string(number / 8);
  out.outcome = RankOutcome::kExited;
  out.wait_status = wait_status;
  out.exit_ns = 9'000'000'000;
  return out;
}

LaunchReport report(int ranks) {
  LaunchReport out;
  out.started_ns = 1'000'000'000;
  out.ended_ns = 11'000'000'000;
  out.took = Milliseconds(10'000);
  out.phases = {{"connect", Milliseconds(2000)}, {"run", Milliseconds(8000)}};
  for (int i = 0; i < ranks; ++i) out.evidence.ranks.push_back(rank(i, 0));
  for (int i = 0; i < 2; ++i) {
    out.workers.push_back({"pi-worker-" + std::to_string(i), "ready", "",
                           "hello", 120, "0.1.0", "", "8 CPUs"});
  }
  out.verdict.code = "no_failure";
  out.verdict.exit_class = "success";
  return out;
}

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) {
    ++found;
  }
  return found;
}

}  // namespace

TEST_CASE("a page holds one square and one tick for each rank") {
  const std::string page = report_html(report(16));
  CHECK(count(page, "<i class=\"ok\" title=") == 16);
  CHECK(count(page, "<line class=\"ok\"") == 16);
  CHECK(count(page, "<span title=\"pi-worker-") == 2);
  CHECK(page.find("class=\"badge ok\"") != std::string::npos);
  CHECK(page.find(">connect</text>") != std::string::npos);
}

TEST_CASE("nothing from outside the page is needed, nothing in it runs") {
  LaunchReport bad = report(1);
  bad.evidence.ranks[0] = rank(0, 9);
  bad.evidence.ranks[0].lines = {
      {1, true, "\x1b[31m<script src=\"http://x/\">alert('1')</script> & co"}};
  bad.evidence.ranks[0].host = "\"><img src=x>";
  bad.verdict.exit_code = 137;
  bad.verdict.code = "signal";
  bad.verdict.first_rank = 0;
  bad.verdict.headline = "<b>rank 0</b>";
  const std::string page = report_html(bad);
  CHECK(page.find("<script") == std::string::npos);
  CHECK(page.find("<img") == std::string::npos);
  CHECK(page.find("<b>") == std::string::npos);
  CHECK(page.find('\x1b') == std::string::npos);
  CHECK(page.find("&lt;script src=&quot;http://x/&quot;&gt;") !=
        std::string::npos);
  CHECK(page.find("default-src 'none'") != std::string::npos);
  CHECK(page.find("killed by signal 9") != std::string::npos);
}

TEST_CASE("the first rank to fail comes first in the excerpts") {
  LaunchReport bad = report(20);
  for (int i = 0; i < 20; ++i) {
    bad.evidence.ranks[i] = rank(i, 256);
    bad.evidence.ranks[i].lines.assign(100, {1, false, "line of it"});
  }
  bad.verdict.code = "rank_failed";
  bad.verdict.first_rank = 13;
  const std::string page = report_html(bad);
  CHECK(count(page, "<details") == 8);
  CHECK(count(page, "line of it") == 8 * 40);
  CHECK(page.find("<details open><summary>rank 13 on") != std::string::npos);
}

TEST_CASE("memory is drawn against its limit") {
  NodeEvidence node;
  node.memory = {{1, 100, 200, -1, 0}};
  CHECK(memory_svg(node).empty());
  node.memory.push_back({2, 200, 200, -1, 0});
  const std::string svg = memory_svg(node);
  CHECK(svg.find("class=\"limit\"") != std::string::npos);
  CHECK(svg.find("160.0,1.0 ") != std::string::npos);  // at the limit
}

TEST_CASE("settings have their reasons, machines their line") {
  LaunchReport launch = report(2);
  launch.fabric = "fabric: TCP";
  launch.settings = {"NCCL_NET=Socket: a pod has no <adapter>"};
  const std::string page = report_html(launch);
  CHECK(page.find("<code>NCCL_NET=Socket</code>") != std::string::npos);
  CHECK(page.find("<td>a pod has no &lt;adapter&gt;</td>") !=
        std::string::npos);
  CHECK(count(page, "<td>8 CPUs</td>") == 2);
}

TEST_CASE("ranks of a worker as ranges, a machine without unknowns") {
  std::vector<RankEvidence> ranks;
  for (const int number : {4, 0, 1, 2, 9}) {
    ranks.push_back(rank(number, 0));
    ranks.back().node = number == 9 ? 2 : 1;
  }
  CHECK(ranks_on(ranks, 1) == "0-2, 4");
  CHECK(ranks_on(ranks, 2) == "9");
  CHECK(ranks_on(ranks, 3).empty());
  NodeFacts facts;
  CHECK(machine_text(facts).empty());
  facts.gpu.count = 8;
  facts.cpus_allowed = 1;
  facts.interfaces = {{"lo", {"127.0.0.1/8"}, true, 1500},
                      {"eth0", {"10.1.2.3/24"}, true, 1500}};
  CHECK(machine_text(facts) == "8 GPUs, 1 CPU, eth0 10.1.2.3");
}

TEST_CASE("a heat map has a square for each pair and tells the worst") {
  HeatMap map{"bandwidth", "Gbit/s", true, {"a", "b"}, {-1, 10, 1, -1}};
  const std::string html = heat_map_html(map);
  CHECK(count(html, "<i class=") == 4);
  CHECK(html.find("class=\"h0\" title=\"a to b: 10.0 Gbit/s") !=
        std::string::npos);
  CHECK(html.find("class=\"h5\" title=\"b to a: 1.00 Gbit/s") !=
        std::string::npos);
  map.values = {-1, -1, -1, -1};
  CHECK(heat_map_html(map).empty());
  map.values.pop_back();
  CHECK(heat_map_html(map).empty());
}

TEST_CASE("ranks that ended alike are ranges") {
  CHECK(report_html(report(16)).find("<td>0-15</td>") != std::string::npos);
  CHECK(ranks_text({7, 3, 1, 2}) == "1-3, 7");
  CHECK(ranks_text({}).empty());
  std::vector<int> every_other;
  for (int i = 0; i < 40; i += 2) every_other.push_back(i);
  CHECK(ranks_text(every_other) == "0, 2, 4, 6, 8, 10, 12, 14, …");
}

TEST_CASE("the command is as one would type it") {
  LaunchReport launch = report(1);
  launch.evidence.job.argv = {"sh", "-c", "echo $RANK"};
  CHECK(report_html(launch).find("<code>sh -c &#39;echo $RANK&#39;</code>") !=
        std::string::npos);
}

TEST_CASE("what was seen has a column where something was") {
  Finding bare{Severity::kWarning, "rdma_none", "no <RDMA>", "", "move it"};
  CHECK(findings_table({}).empty());
  CHECK(findings_table({bare}).find("seen") == std::string::npos);
  CHECK(findings_table({bare}).find("no &lt;RDMA&gt;") != std::string::npos);
  Finding full = bare;
  full.evidence = "ibv_devinfo";
  const std::string table = findings_table({bare, full});
  CHECK(count(table, "<th>seen</th>") == 1);
  CHECK(count(table, "<td></td>") == 1);
}

TEST_CASE("an empty report is a page too") {
  const std::string page = report_html(LaunchReport{});
  CHECK(page.ends_with("</html>\n"));
  CHECK(page.find("nan") == std::string::npos);
}
