// SPDX-License-Identifier: Apache-2.0
#include "wire/stack_messages.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/printable.h"

namespace muster::wire {

namespace {

using Json = nlohmann::json;

constexpr size_t kMostShown = 4096;  // of a text, as job/json_fields.h

Error malformed(const char* what) {
  return Error{"protocol", std::string("a malformed ") + what + " came", "", "",
               ""};
}

std::string dump(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Missing is fine, another type is not.
template <class T>
bool read(const Json& from, const char* name, T& to) {
  const auto found = from.find(name);
  if (found == from.end()) return true;
  if constexpr (std::is_same_v<T, std::string>) {
    if (!found->is_string()) return false;
  } else if constexpr (std::is_integral_v<T>) {
    if (!found->is_number_integer()) return false;
  } else {
    if (!found->is_array()) return false;
    for (const Json& item : *found) {
      using Item = typename T::value_type;
      constexpr bool kText = std::is_same_v<Item, std::string>;
      if (kText ? !item.is_string() : !item.is_number_integer()) return false;
    }
  }
  to = found->template get<T>();
  return true;
}

}  // namespace

std::string to_json(const StackRequest& request) {
  return dump({{"ranks", request.ranks},
               {"signal", request.signal},
               {"nccl", request.nccl},
               {"flight", request.flight},
               {"raised", request.raised}});
}

namespace {

std::string reply_text(const StackReply& reply, size_t frames) {
  Json ranks = Json::array();
  for (const RankStack& rank : reply.ranks) {
    const auto most = std::min(frames, rank.frames.size());
    const auto end = rank.frames.begin() + static_cast<std::ptrdiff_t>(most);
    ranks.push_back({{"rank", rank.rank},
                     {"pid", rank.pid},
                     {"program", rank.program},
                     {"state", rank.state},
                     {"threads", rank.threads},
                     {"frames", std::vector(rank.frames.begin(), end)},
                     {"problem", rank.problem},
                     {"uncaught", rank.uncaught},
                     {"cpu_ms", rank.cpu_ms},
                     {"io_bytes", rank.io_bytes},
                     {"cpu_ms_after", rank.cpu_ms_after},
                     {"io_bytes_after", rank.io_bytes_after},
                     {"mark", rank.mark}});
  }
  return dump({{"ranks", std::move(ranks)},
               {"addresses", reply.addresses},
               {"nccl", reply.nccl},
               {"flight", reply.flight}});
}

}  // namespace

std::string to_json(const StackReply& reply) {
  size_t frames = 0;
  for (const RankStack& rank : reply.ranks) {
    frames = std::max(frames, rank.frames.size());
  }
  std::string text = reply_text(reply, frames);
  while (text.size() > kMaxPayload && frames > 0) {
    frames /= 2;
    text = reply_text(reply, frames);
  }
  return text;
}

Result<StackRequest> stack_request_from_json(std::string_view text) {
  const Json value = Json::parse(text, nullptr, false);
  StackRequest out;
  if (!value.is_object() || !read(value, "ranks", out.ranks) ||
      !read(value, "signal", out.signal) || !read(value, "nccl", out.nccl) ||
      !read(value, "flight", out.flight) ||
      !read(value, "raised", out.raised)) {
    return fail(malformed("question for stacks"));
  }
  return out;
}

Result<StackReply> stack_reply_from_json(std::string_view text) {
  const Json value = Json::parse(text, nullptr, false);
  const auto ranks = value.is_object() ? value.find("ranks") : value.end();
  if (!value.is_object() || ranks == value.end() || !ranks->is_array()) {
    return fail(malformed("answer with stacks"));
  }
  StackReply out;
  if (!read(value, "addresses", out.addresses) ||
      !read(value, "nccl", out.nccl) || !read(value, "flight", out.flight)) {
    return fail(malformed("answer with stacks"));
  }
  for (const Json& entry : *ranks) {
    RankStack rank;
    if (!entry.is_object() || !read(entry, "rank", rank.rank) ||
        !read(entry, "pid", rank.pid) ||
        !read(entry, "program", rank.program) ||
        !read(entry, "state", rank.state) ||
        !read(entry, "threads", rank.threads) ||
        !read(entry, "frames", rank.frames) ||
        !read(entry, "problem", rank.problem) ||
        !read(entry, "uncaught", rank.uncaught) ||
        !read(entry, "cpu_ms", rank.cpu_ms) ||
        !read(entry, "io_bytes", rank.io_bytes) ||
        !read(entry, "cpu_ms_after", rank.cpu_ms_after) ||
        !read(entry, "io_bytes_after", rank.io_bytes_after) ||
        !read(entry, "mark", rank.mark)) {
      return fail(malformed("answer with stacks"));
    }
    for (std::string* const one : {&rank.program, &rank.state, &rank.problem}) {
      *one = printable_line(*one, kMostShown);
    }
    for (std::string& frame : rank.frames) {
      frame = printable_line(frame, kMostShown);
    }
    out.ranks.push_back(std::move(rank));
  }
  return out;
}

}  // namespace muster::wire
