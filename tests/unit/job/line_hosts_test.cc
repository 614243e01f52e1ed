// SPDX-License-Identifier: Apache-2.0
// The hosts of a line, and where each of its programs may go.
#include "job/line_hosts.h"

#include "base/text.h"
#include "catch.h"

namespace muster {
namespace {

MpirunLine line_of(const std::string& text) {
  std::vector<std::string> words;
  for (const auto word : split_words(text)) words.emplace_back(word);
  auto line = parse_mpirun_line(words);
  if (!line) FAIL(text << ": " << line.error().text());
  return std::move(*line);
}

// "a:2 b:*", a host without a number by itself.
std::string hosts(const std::string& text) {
  std::string out;
  for (const HostEntry& host : hosts_of_line(line_of(text))) {
    out += out.empty() ? "" : " ";
    out += host.name;
    if (host.all_slots) out += ":*";
    if (host.slots_given) out += ":" + std::to_string(host.slots);
  }
  return out;
}

TEST_CASE("hosts of all programs together, with the most slots of each") {
  CHECK(hosts("mpirun -np 1 -H a ./x : -np 1 -H b ./y") == "a:1 b:1");
  CHECK(hosts("mpirun -np 1 -H a ./x : -np 2 -H a:2,b ./y") == "a:2 b:1");
  CHECK(hosts("mpirun -np 2 -H a:2 ./x : -np 1 -H a ./y") == "a:2");
  CHECK(hosts("mpirun -np 1 -H b,a ./x : -np 1 ./y") == "b:1 a:1");
  CHECK(hosts("mpirun -np 1 -H a:* ./x : -np 1 -H a,b ./y") == "a:* b:1");
  CHECK(hosts("mpirun -npernode 2 -H a ./x : -H b ./y") == "a b");
  CHECK(hosts("mpirun -np 1 ./x : -np 1 ./y").empty());
  // One program.
  CHECK(hosts("mpirun -np 2 -H a,b ./x") == "a:1 b:1");
  CHECK(hosts("mpirun -np 4 -H a,b ./x") == "a b");
  CHECK(hosts("mpirun -np 4 -H a:*,b ./x") == "a:* b:1");
  CHECK(hosts("mpiexec.hydra -hosts a,b -n 1 ./x : -n 1 ./y") == "a:1 b:1");
  CHECK(hosts("mpirun.mpich -host a,b -n 1 ./x : -n 1 ./y") == "a:1 b:1");
}

TEST_CASE("where each program may go") {
  const MpirunLine line =
      line_of("mpirun -np 2 -H b:2,a ./x : -np 1 -H a:* ./y : -np 1 ./z");
  const auto all = hosts_of_line(line);
  const auto places = [&](size_t app) {
    std::string out;
    const auto own = own_places(line, line.apps[app], all).value();
    for (const AppHost& place : own) {
      out +=
          std::to_string(place.node) + ':' + std::to_string(place.slots) + ' ';
    }
    return out;
  };
  CHECK(places(0) == "0:2 1:1 ");
  CHECK(places(1) == "1:0 ");
  CHECK(places(2).empty());
  const auto lacking = own_places(line, line.apps[0], {all[0]});
  REQUIRE_FALSE(lacking);
  CHECK(lacking.error().text().find("its host a is not among") !=
        std::string::npos);
}

}  // namespace
}  // namespace muster
