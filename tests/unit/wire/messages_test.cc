// SPDX-License-Identifier: Apache-2.0
// Every message there and back with strings that JSON does not like, and texts
// that are not the message they claim to be.
#include "wire/messages.h"

#include <limits>

#include "catch.h"

namespace muster::wire {
namespace {

const std::string kAwkward =
    "two\nlines \"quoted\" back\\slash\ttab \xc3\xa4\xe2\x82\xac" +
    std::string("nul\0nul", 7);
// For people: comes as one printable line.
const std::string kText = "with \"quotes\", back\\slash, \xc3\xa4\xe2\x82\xac";
const std::string kBinary = std::string("\xff\xfe bad \xc3\x28 \0", 11);

template <class Message>
Message round_trip(const Message& message) {
  const std::string text = to_json(message);
  CHECK(text.find('\n') == std::string::npos);
  Result<Message> back = from_json<Message>(text);
  if (!back) FAIL(back.error().text());
  CHECK(to_json(*back) == text);
  return *back;
}

template <class Message>
std::string error_of(std::string_view text) {
  const Result<Message> message = from_json<Message>(text);
  if (message) return "";
  CHECK(message.error().code == "protocol");
  return message.error().text();
}

TEST_CASE("Hello and its reply") {
  Hello hello;
  hello.protocol_min = 1;
  hello.protocol_max = 3;
  hello.version = "0.1.0";
  hello.launch_id = kAwkward;
  hello.job = "j";
  hello.incarnation = "i";
  hello.node = 7;
  hello.host = kBinary;
  hello.heartbeat_ms = 1;
  hello.silence_ms = 2;
  hello.grace_ms = 3;
  const Hello back = round_trip(hello);
  CHECK(back.protocol_min == 1);
  CHECK(back.protocol_max == 3);
  CHECK(back.version == "0.1.0");
  CHECK(back.launch_id == kAwkward);
  CHECK(back.job == "j");
  CHECK(back.incarnation == "i");
  CHECK(back.node == 7);
  CHECK(back.host == kBinary);
  CHECK(back.heartbeat_ms == 1);
  CHECK(back.silence_ms == 2);
  CHECK(back.grace_ms == 3);

  HelloReply reply;
  reply.protocol = 2;
  reply.version = "v";
  reply.hostname = "w-0";
  reply.pid = 99;
  reply.realtime_ns = std::numeric_limits<int64_t>::max();
  const HelloReply seen = round_trip(reply);
  CHECK(seen.protocol == 2);
  CHECK(seen.version == "v");
  CHECK(seen.hostname == "w-0");
  CHECK(seen.pid == 99);
  CHECK(seen.realtime_ns == std::numeric_limits<int64_t>::max());

  const Refused refused = round_trip(Refused{"busy", kText});
  CHECK(refused.code == "busy");
  CHECK(refused.text == kText);
}

TEST_CASE("probes") {
  ProbeRequest request;
  request.names = {"a", kBinary, ""};
  request.targets = {{"h", 2222}, {"fd00::1", 65535}};
  request.timeout_ms = 17;
  request.listen = true;
  const ProbeRequest back = round_trip(request);
  CHECK(back.names == request.names);
  REQUIRE(back.targets.size() == 2);
  CHECK(back.targets[1].host == "fd00::1");
  CHECK(back.targets[1].port == 65535);
  CHECK(back.timeout_ms == 17);
  CHECK(back.listen);

  ProbeReply reply;
  reply.results = {{"h:1", "refused", kText}, {"n", "ok", ""}};
  reply.listen_port = 40000;
  const ProbeReply seen = round_trip(reply);
  REQUIRE(seen.results.size() == 2);
  CHECK(seen.results[0].subject == "h:1");
  CHECK(seen.results[0].outcome == "refused");
  CHECK(seen.results[0].detail == kText);
  CHECK(seen.listen_port == 40000);
}

TEST_CASE("StartRequest keeps order, duplicates and bytes") {
  StartRequest request;
  request.kind = ProcessKind::kDaemon;
  request.argv = {"bash", "-c", kAwkward, "", kBinary};
  request.env = {{"Z", kAwkward}, {"A", kBinary}, {"Z", ""}, {kBinary, "v"}};
  request.unset = {"PMIX_RANK", kBinary};
  request.cwd = "/a b";
  request.cwd_if_there = kAwkward;
  request.stdin_open = true;
  request.rank = 12;
  request.credit = std::numeric_limits<uint32_t>::max();
  request.cpus = {3, 1, 2};
  request.rank_env = {{"X", "1"}};
  const StartRequest back = round_trip(request);
  CHECK(back.kind == ProcessKind::kDaemon);
  CHECK(back.argv == request.argv);
  CHECK(back.env == request.env);
  CHECK(back.unset == request.unset);
  CHECK(back.cwd == request.cwd);
  CHECK(back.cwd_if_there == request.cwd_if_there);
  CHECK(back.stdin_open);
  CHECK(back.rank == 12);
  CHECK(back.credit == request.credit);
  CHECK(back.cpus == request.cpus);
  CHECK(back.rank_env == request.rank_env);
  for (const ProcessKind kind : {ProcessKind::kRank, ProcessKind::kTool}) {
    request.kind = kind;
    CHECK(round_trip(request).kind == kind);
  }
}

TEST_CASE("starts and ends of processes") {
  CHECK(round_trip(Started{41}).pid == 41);
  const StartFailed failed =
      round_trip(StartFailed{{"c", kText, "why", "where", "hint"}, 126});
  CHECK(failed.error.code == "c");
  CHECK(failed.error.what == kText);
  CHECK(failed.error.text() == "where: " + std::string(kText) + ": why; hint");
  CHECK(failed.exit_code == 126);

  const Attached attached =
      round_trip(Attached{1, 2, 3, 8, 4, 0x80000001, kText});
  CHECK(attached.rank == 1);
  CHECK(attached.size == 2);
  CHECK(attached.local_rank == 3);
  CHECK(attached.local_size == 8);
  CHECK(attached.pid == 4);
  CHECK(attached.parent_id == 0x80000001);
  CHECK(attached.program == kText);

  Exited exited;
  exited.wait_status = 0x8b;
  exited.user_us = 1;
  exited.system_us = 2;
  exited.max_rss_kib = int64_t{1} << 40;
  exited.loaded_mpi = true;
  exited.oom_killed = true;
  exited.bytes_lost = std::numeric_limits<uint64_t>::max();
  exited.ended_ms_ago = 2000;
  const Exited back = round_trip(exited);
  CHECK(back.wait_status == 0x8b);
  CHECK(back.user_us == 1);
  CHECK(back.system_us == 2);
  CHECK(back.max_rss_kib == int64_t{1} << 40);
  CHECK(back.loaded_mpi);
  CHECK(back.oom_killed);
  CHECK(back.bytes_lost == std::numeric_limits<uint64_t>::max());
  CHECK(back.ended_ms_ago == 2000);
}

TEST_CASE("control messages") {
  CHECK(round_trip(SignalRequest{15}).signal == 15);
  const StopRequest stop = round_trip(StopRequest{7, true});
  CHECK(stop.grace_ms == 7);
  CHECK(stop.now);
  HealthSample sample;
  sample.memory_bytes = 1;
  sample.memory_limit = -1;
  sample.memory_peak = 3;
  sample.oom_kills = 4;
  sample.shm_free = 5;
  sample.processes = 6;
  sample.realtime_ns = std::numeric_limits<int64_t>::min();
  const HealthSample health = round_trip(sample);
  CHECK(health.memory_bytes == 1);
  CHECK(health.memory_limit == -1);
  CHECK(health.memory_peak == 3);
  CHECK(health.oom_kills == 4);
  CHECK(health.shm_free == 5);
  CHECK(health.processes == 6);
  CHECK(health.realtime_ns == std::numeric_limits<int64_t>::min());
  const LogLine line = round_trip(LogLine{"warn", kText, true});
  CHECK(line.leaving);
  CHECK(line.level == "warn");
  CHECK(line.text == kText);
  CHECK(round_trip(ByeMessage{true}).success);
}

TEST_CASE("a newer peer may add fields, an older one may lack some") {
  const auto started =
      from_json<Started>(R"({"pid":3,"new":{"deep":[1,2,{"x":null}]}})");
  REQUIRE(started);
  CHECK(started->pid == 3);
  const auto failed = from_json<StartFailed>(R"({"code":"c"})");
  REQUIRE(failed);
  CHECK(failed->exit_code == 127);
  const auto stop = from_json<StopRequest>(R"({"grace_ms":null})");
  REQUIRE(stop);
  CHECK(stop->grace_ms == 5000);
}

TEST_CASE("wrong texts are named by field") {
  CHECK(error_of<Started>("") != "");
  CHECK(error_of<Started>("[]") != "");
  CHECK(error_of<Started>("{\"pid\":3") != "");
  CHECK(error_of<Started>("{\"pid\":3}x") != "");
  CHECK(error_of<Started>("{}") ==
        "could not understand the message Started: field pid is missing");
  CHECK(error_of<Started>(R"({"pid":"3"})") ==
        "could not understand the message Started: "
        "field pid is not a 32-bit integer");
  CHECK(error_of<Started>(R"({"pid":3.0})") != "");
  CHECK(error_of<Started>(R"({"pid":2147483648})") != "");
  CHECK(error_of<Started>(R"({"pid":-2147483649})") != "");
  CHECK(error_of<Started>(R"({"pid":99999999999999999999})") != "");
  CHECK(error_of<StopRequest>(R"({"now":1})") != "");
  CHECK(error_of<Attached>(R"({"rank":1,"parent_id":-1})") != "");
  CHECK(error_of<StartRequest>(R"({"kind":"rank","argv":"ls"})") != "");
  CHECK(error_of<StartRequest>(R"({"kind":"god","argv":["ls"]})") ==
        "could not understand the message StartRequest: "
        "field kind is not rank, daemon or tool");
  CHECK(error_of<StartRequest>(
            R"({"kind":"rank","argv":["ls"],"env":[["A"]]})") != "");
  CHECK(error_of<StartRequest>(
            R"({"kind":"rank","argv":["ls"],"env":{"A":"b"}})") != "");
  CHECK(error_of<StartRequest>(
            R"({"kind":"rank","argv":[{"base64":"!!!!"}]})") != "");
  CHECK(error_of<StartRequest>(
            R"({"kind":"rank","argv":["ls"],"cpus":[0,-1]})") ==
        "could not understand the message StartRequest: "
        "field cpus is not a list of CPUs");
  CHECK(error_of<StartRequest>(
            R"({"kind":"rank","argv":["ls"],"cpus":[2147483647]})") != "");
  CHECK(error_of<ProbeRequest>(R"({"targets":[{"host":"h"}]})") ==
        "could not understand the message ProbeRequest.targets: "
        "field port is missing");
  CHECK(error_of<ProbeRequest>(R"({"targets":[5]})") != "");
  CHECK(error_of<LogLine>("{\"level\":\"\xff\",\"text\":\"\"}") != "");
}

TEST_CASE("text for people comes as one printable line") {
  const std::string evil = "x\nmuster: y\x1b[0m\r";
  const std::string shown = "x\\nmuster: y\\x1b[0m\\r";
  const auto failed = from_json<StartFailed>(
      to_json(StartFailed{{evil, evil, evil, evil, evil}, 1}));
  REQUIRE(failed);
  for (const std::string& text :
       {failed->error.code, failed->error.what, failed->error.why,
        failed->error.where, failed->error.hint}) {
    CHECK(text == shown);
  }
  const auto line = from_json<LogLine>(to_json(LogLine{"warn", evil}));
  REQUIRE(line);
  CHECK(line->text == shown);
  const auto refused = from_json<Refused>(to_json(Refused{evil, evil}));
  REQUIRE(refused);
  CHECK(refused->code + refused->text == shown + shown);
  HelloReply reply;
  reply.version = reply.hostname = evil;
  const auto greeted = from_json<HelloReply>(to_json(reply));
  REQUIRE(greeted);
  CHECK(greeted->version + greeted->hostname == shown + shown);
  Attached attached;
  attached.program = evil;
  CHECK(from_json<Attached>(to_json(attached))->program == shown);
  ProbeReply probe;
  probe.results.push_back({evil, evil, evil});
  CHECK(from_json<ProbeReply>(to_json(probe))->results[0].detail == shown);
  NodeFacts facts;
  facts.hostname = facts.mpi.version = facts.cuda_driver = evil;
  facts.environment["A"] = evil;
  const auto node = node_facts_from_json(to_json(facts));
  REQUIRE(node);
  CHECK(node->hostname + node->mpi.version + node->cuda_driver ==
        shown + shown + shown);
  CHECK(node->environment.at("A") == evil);  // bytes, for ranks
  StartRequest request;
  request.argv = {evil};
  CHECK(from_json<StartRequest>(to_json(request))->argv[0] == evil);
}

TEST_CASE("deep nesting is refused or skipped, never a crash") {
  const std::string deep(200'000, '[');
  CHECK(error_of<Started>(deep) != "");
  const std::string closed =
      "{\"pid\":1,\"x\":" + deep + std::string(200'000, ']') + "}";
  CHECK(from_json<Started>(closed));
  const auto listed = from_json<ProbeReply>(
      R"({"results":[{"subject":"a","outcome":"ok","x":)" + closed + "}]}");
  REQUIRE(listed);
  CHECK(listed->results.at(0).subject == "a");
  CHECK(node_facts_from_json(R"({"hostname":"a","gpu":)" + closed + "}"));
}

}  // namespace
}  // namespace muster::wire
