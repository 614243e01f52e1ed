// SPDX-License-Identifier: Apache-2.0
#include "pmi/pmi1_server.h"

#include <utility>

#include "pmi/process_mapping.h"

namespace muster {

namespace {

// MPICH's client reads lines of up to 1024 bytes; a value and the words before
// it must fit. Longer business cards are cut up by the client.
constexpr size_t kKeyMax = 64;
constexpr size_t kValueMax = 1024;
constexpr size_t kNameMax = 256;
constexpr size_t kLongestLine = 4096;
constexpr size_t kMapping = 960;

constexpr const char* kNoSpawn =
    "natively started ranks cannot start more; use --bootstrap mpirun";

void append_u32(std::string& out, size_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) {
    out.push_back(static_cast<char>(value >> shift & 0xff));
  }
}

bool take_text(std::string_view& text, std::string_view& out) {
  if (text.size() < 4) return false;
  size_t length = 0;
  for (size_t i = 0; i < 4; ++i) {
    length = length << 8 | static_cast<unsigned char>(text[i]);
  }
  if (text.size() - 4 < length) return false;
  out = text.substr(4, length);
  text.remove_prefix(4 + length);
  return true;
}

}  // namespace

void append_pmi1_pair(std::string& out, std::string_view key,
                      std::string_view value) {
  append_u32(out, key.size());
  out += key;
  append_u32(out, value.size());
  out += value;
}

bool read_pmi1_pairs(std::string_view text,
                     std::map<std::string, std::string>& out) {
  while (!text.empty()) {
    std::string_view key;
    std::string_view value;
    if (!take_text(text, key) || !take_text(text, value)) return false;
    out[std::string(key)] = std::string(value);
  }
  return true;
}

Pmi1Server::Pmi1Server(const World& world, Actions actions)
    : world_(world), actions_(std::move(actions)) {
  const std::string mapping = process_mapping(world, kMapping);
  if (!mapping.empty()) entries_["PMI_process_mapping"] = mapping;
}

bool Pmi1Server::receive(int rank, std::string_view bytes) {
  Client& client = clients_[rank];
  client.buffer.append(bytes);
  size_t start = 0;
  for (size_t end = client.buffer.find('\n'); end != std::string::npos;
       end = client.buffer.find('\n', start)) {
    handle(rank, client,
           std::string_view(client.buffer).substr(start, end - start));
    start = end + 1;
  }
  client.buffer.erase(0, start);
  return client.buffer.size() <= kLongestLine;
}

void Pmi1Server::reply(int rank, const std::string& text) {
  actions_.reply(rank, text + '\n');
}

void Pmi1Server::handle(int rank, Client& client, std::string_view text) {
  if (client.in_mcmd) {
    if (text != "endcmd") return;
    client.in_mcmd = false;
    actions_.complain(rank, std::string("MPI_Comm_spawn: ") + kNoSpawn);
    return reply(rank, std::string("cmd=spawn_result rc=-1 msg=") + kNoSpawn);
  }
  const Pmi1Line line = parse_pmi1_line(text);
  const std::string& command = line.command;
  if (command == "mcmd") {
    client.in_mcmd = true;
  } else if (command == "init") {
    init(rank, client, line);
  } else if (command == "put") {
    put(rank, line);
  } else if (command == "get") {
    get(rank, line);
  } else if (command == "barrier_in") {
    barrier(rank, client);
  } else if (command == "get_maxes") {
    reply(rank, "cmd=maxes rc=0 kvsname_max=" + std::to_string(kNameMax) +
                    " keylen_max=" + std::to_string(kKeyMax) +
                    " vallen_max=" + std::to_string(kValueMax));
  } else if (command == "get_appnum") {
    reply(rank,
          "cmd=appnum rc=0 appnum=" + std::to_string(world_.app_of(rank)));
  } else if (command == "get_universe_size") {
    reply(rank, "cmd=universe_size rc=0 size=" + std::to_string(world_.size()));
  } else if (command == "get_my_kvsname") {
    reply(rank, "cmd=my_kvsname rc=0 kvsname=" + world_.nspace());
  } else if (command == "get_ranks2hosts") {
    // Intel MPI asks for it, and accepts an empty table.
    reply(rank, "cmd=put_ranks2hosts 0 0");
  } else if (command == "finalize") {
    client.initialized = false;  // a script's next MPI program may follow
    actions_.finalized(rank);
    reply(rank, "cmd=finalize_ack rc=0");
  } else if (command == "abort") {
    const auto code = line.get_int("exitcode");
    actions_.abort(rank, code ? *code : line.get_int("exit_code").value_or(1),
                   line.get("error_msg"));
  } else if (command == "publish_name" || command == "unpublish_name" ||
             command == "lookup_name") {
    names(rank, client, line);
  } else if (!command.empty()) {
    reply(rank,
          "cmd=" + command.substr(0, 64) + "_result rc=-1 msg=not_supported");
  }
}

void Pmi1Server::init(int rank, Client& client, const Pmi1Line& line) {
  const bool known = line.get_int("pmi_version") == 1;
  reply(rank, std::string("cmd=response_to_init pmi_version=1 "
                          "pmi_subversion=1 rc=") +
                  (known ? "0" : "-1"));
  if (!known) {
    actions_.complain(rank, "this MPI asks for PMI version " +
                                line.get("pmi_version") +
                                "; only PMIx and PMI-1 are served");
    return;
  }
  if (!std::exchange(client.initialized, true)) actions_.connected(rank);
}

void Pmi1Server::put(int rank, const Pmi1Line& line) {
  const std::string* key = line.find("key");
  const std::string* value = line.find("value");
  if (key == nullptr || value == nullptr || key->size() > kKeyMax ||
      value->size() > kValueMax) {
    return reply(rank, "cmd=put_result rc=-1 msg=key_or_value_too_long");
  }
  entries_[*key] = *value;
  append_pmi1_pair(pending_, *key, *value);
  reply(rank, "cmd=put_result rc=0 msg=success");
}

void Pmi1Server::get(int rank, const Pmi1Line& line) {
  const auto entry = entries_.find(line.get("key"));
  if (entry == entries_.end()) {
    return reply(rank, "cmd=get_result rc=-1 msg=key_not_found value=unknown");
  }
  // `value` last: it may hold spaces.
  reply(rank, "cmd=get_result rc=0 msg=success value=" + entry->second);
}

void Pmi1Server::barrier(int rank, Client& client) {
  if (std::exchange(client.in_barrier, true)) {
    return actions_.complain(rank, "it entered the same barrier twice");
  }
  client.came = true;
  if (++in_barrier_ == world_.own_ranks().size()) {
    actions_.barrier(std::exchange(pending_, {}));
  }
}

bool Pmi1Server::came(int rank) const {
  const auto client = clients_.find(rank);
  return client != clients_.end() && client->second.came;
}

void Pmi1Server::release(std::string_view contributions) {
  read_pmi1_pairs(contributions, entries_);
  in_barrier_ = 0;
  for (auto& [rank, client] : clients_) {
    if (std::exchange(client.in_barrier, false)) {
      reply(rank, "cmd=barrier_out rc=0");
    }
  }
}

void Pmi1Server::names(int rank, Client& client, const Pmi1Line& line) {
  client.names_command = line.command;
  wire::NamesRequest request;
  request.operation = line.command.substr(0, line.command.find('_'));
  request.owner = rank;
  // Apart from what PMIx clients publish: the values differ in form.
  request.keys = {"pmi1:" + line.get("service")};
  if (request.operation == "publish") request.values = {line.get("port")};
  actions_.names(rank, std::move(request));
}

void Pmi1Server::names_reply(int rank, const wire::NamesReply& answer) {
  const std::string command =
      std::exchange(clients_[rank].names_command, std::string());
  const std::string name = command.substr(0, command.find('_'));
  std::string text = "cmd=" + name + "_result ";
  if (!answer.error.empty()) {
    text += "rc=-1 info=" + answer.error + " msg=" + answer.error;
  } else {
    text += "rc=0 info=ok";
    if (!answer.values.empty()) text += " port=" + answer.values[0];
  }
  reply(rank, text);
}

}  // namespace muster
