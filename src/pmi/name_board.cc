// SPDX-License-Identifier: Apache-2.0
#include "pmi/name_board.h"

#include <algorithm>

namespace muster {

namespace {

constexpr size_t kMostBytes = 64 << 20;

wire::NamesReply refusal(std::string error) {
  wire::NamesReply reply;
  reply.error = std::move(error);
  return reply;
}

}  // namespace

std::vector<NameBoard::Answer> NameBoard::handle(
    uint64_t ticket, const wire::NamesRequest& request) {
  std::vector<Answer> out;
  if (request.operation == "unpublish") {
    out.push_back({ticket, unpublish(request)});
    return out;
  }
  if (request.operation == "lookup") {
    wire::NamesReply found = look_up(request.keys);
    if (request.wait && found.keys.size() < request.keys.size()) {
      waiting_.push_back({ticket, request.keys});
    } else {
      out.push_back({ticket, std::move(found)});
    }
    return out;
  }
  if (request.operation != "publish") {
    out.push_back({ticket, refusal("not_supported")});
    return out;
  }
  out.push_back({ticket, publish(request)});
  for (auto waiting = waiting_.begin(); waiting != waiting_.end();) {
    wire::NamesReply found = look_up(waiting->keys);
    if (found.keys.size() < waiting->keys.size()) {
      ++waiting;
      continue;
    }
    out.push_back({waiting->ticket, std::move(found)});
    waiting = waiting_.erase(waiting);
  }
  return out;
}

std::optional<NameBoard::Answer> NameBoard::expire(uint64_t ticket) {
  const auto waiting =
      std::find_if(waiting_.begin(), waiting_.end(),
                   [ticket](const Waiting& w) { return w.ticket == ticket; });
  if (waiting == waiting_.end()) return std::nullopt;
  wire::NamesReply reply = look_up(waiting->keys);
  reply.error = "timeout";
  waiting_.erase(waiting);
  return Answer{ticket, std::move(reply)};
}

wire::NamesReply NameBoard::publish(const wire::NamesRequest& request) {
  if (request.keys.size() != request.values.size()) {
    return refusal("not_supported");
  }
  std::map<std::string, Entry> added;
  size_t bytes = 0;
  for (size_t i = 0; i < request.keys.size(); ++i) {
    const std::string& key = request.keys[i];
    const Entry entry{request.values[i], request.owner};
    if (entries_.count(key) > 0 || !added.emplace(key, entry).second) {
      return refusal("exists");
    }
    bytes += key.size() + entry.value.size();
  }
  if (bytes_ + bytes > kMostBytes) return refusal("full");
  bytes_ += bytes;
  entries_.merge(added);
  return {};
}

wire::NamesReply NameBoard::unpublish(const wire::NamesRequest& request) {
  wire::NamesReply reply;
  // No key: all that its owner has published (PMIx_Unpublish).
  std::vector<std::string> keys = request.keys;
  for (const auto& [key, entry] : entries_) {
    if (request.keys.empty() && entry.owner == request.owner) {
      keys.push_back(key);
    }
  }
  for (const std::string& key : keys) {
    const auto entry = entries_.find(key);
    if (entry == entries_.end()) {
      reply.error = "not_found";
      continue;
    }
    bytes_ -= key.size() + entry->second.value.size();
    entries_.erase(entry);
  }
  return reply;
}

wire::NamesReply NameBoard::look_up(
    const std::vector<std::string>& keys) const {
  wire::NamesReply reply;
  for (const std::string& key : keys) {
    const auto entry = entries_.find(key);
    if (entry == entries_.end()) continue;
    reply.keys.push_back(key);
    reply.values.push_back(entry->second.value);
    reply.owners.push_back(entry->second.owner);
  }
  if (reply.keys.empty()) reply.error = "not_found";
  return reply;
}

}  // namespace muster
