// SPDX-License-Identifier: Apache-2.0
#include "launcher/start/modex_router.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "launcher/model/phase_clock.h"

namespace muster {

namespace {

constexpr Milliseconds kTick{500};
constexpr size_t kHostsNamed = 8;
// Ranks that all leave without MPI_Finalize do so within it.
constexpr Milliseconds kLeaving{5'000};
// Of a fence's participants, behind its kind (pmi/participants.h).
constexpr std::string_view kAllRanks = ":*";

// Asker and id identify a waiting lookup.
uint64_t ticket_of(int node, uint32_t id) {
  return static_cast<uint64_t>(node) << 32 | id;
}

int only_one(const std::vector<int>& ranks) {
  return ranks.size() == 1 ? ranks[0] : -1;
}

}  // namespace

ModexRouter::ModexRouter(Loop& loop, Fleet& fleet, World world,
                         std::vector<uint16_t> fleet_nodes,
                         Milliseconds deadline, ModexEvents events)
    : fleet_(fleet),
      world_(std::move(world)),
      fleet_nodes_(std::move(fleet_nodes)),
      deadline_(deadline),
      events_(std::move(events)),
      fences_(world_),
      delivery_(sender(), queue_of()),
      gets_(sender(), queue_of()),
      ended_(loop, static_cast<size_t>(world_.size()), sender(),
             [this] { return connected_nodes(); }),
      roll_call_(world_, sender()),
      stages_(static_cast<size_t>(world_.size()), Stage::kStarted),
      tick_(loop) {
  for (size_t i = 0; i < fleet_nodes_.size(); ++i) {
    node_of_fleet_[fleet_nodes_[i]] = static_cast<int>(i);
  }
  fleet_.watch_drained([this](uint16_t fleet_node) {
    const auto found = node_of_fleet_.find(fleet_node);
    if (found == node_of_fleet_.end()) return;
    delivery_.go_on(found->second);
    gets_.go_on(found->second);
  });
  listen();
  tick_.start(kTick, [this] { tick(); });
}

FenceDelivery::Send ModexRouter::sender() {
  return [this](int node, wire::FrameType type, uint32_t id,
                std::string_view payload) { send(node, type, id, payload); };
}

FenceDelivery::Queued ModexRouter::queue_of() {
  return [this](int node) {
    return fleet_.queued(fleet_nodes_[static_cast<size_t>(node)]);
  };
}

ModexRouter::~ModexRouter() { fleet_.watch_drained(nullptr); }

void ModexRouter::send(int node, wire::FrameType type, uint32_t id,
                       std::string_view payload) {
  fleet_.send(fleet_nodes_[static_cast<size_t>(node)], type, id, payload);
}

void ModexRouter::listen() {
  using wire::Frame;
  using wire::FrameType;
  const auto on = [this](FrameType type,
                         std::function<void(int, const Frame&)> handle) {
    fleet_.on(type, [this, handle = std::move(handle)](uint16_t fleet_node,
                                                       const Frame& frame) {
      const auto found = node_of_fleet_.find(fleet_node);
      if (found != node_of_fleet_.end()) handle(found->second, frame);
    });
  };
  on(FrameType::kFence,
     [this](int node, const Frame& frame) { open_fence(node, frame); });
  on(FrameType::kModexData,
     [this](int node, const Frame& frame) { data(node, frame); });
  on(FrameType::kModexGet,
     [this](int node, const Frame& frame) { get(node, frame); });
  on(FrameType::kModexReply,
     [this](int node, const Frame& frame) { gets_.replied(node, frame); });
  on(FrameType::kNames,
     [this](int node, const Frame& frame) { names(node, frame); });
  on(FrameType::kRankState,
     [this](int node, const Frame& frame) { rank_state(node, frame); });
  on(FrameType::kArrivals, [this](int node, const Frame& frame) {
    roll_call_.answered(node, frame);
  });
  on(FrameType::kRankEvent,
     [this](int node, const Frame& frame) { spread(node, frame); });
}

void ModexRouter::open_fence(int node, const wire::Frame& frame) {
  auto call = wire::modex_from_json<wire::FenceCall>(frame.payload);
  if (!call) return protocol_error(node, call.error());
  Upload upload;
  upload.pieces = PieceCollector(call->size);
  upload.call = std::move(*call);
  if (!upload.pieces.acceptable()) {
    return broken(Error{"modex_too_large",
                        "ranks put too much data",
                        human_bytes(upload.call.size) + " in one fence",
                        world_.host(node),
                        {}});
  }
  const Peer peer{node, frame.id};
  const bool complete = upload.pieces.complete();
  uploads_[peer] = std::move(upload);
  if (complete) contribute(node, frame.id);
}

void ModexRouter::data(int node, const wire::Frame& frame) {
  if (frame.id >= wire::kLauncherModexIds) return gets_.data(node, frame);
  const auto upload = uploads_.find({node, frame.id});
  if (upload == uploads_.end()) return;
  if (!upload->second.pieces.add(frame.payload)) {
    return broken(Error{"protocol",
                        "a fence got more data than announced",
                        {},
                        world_.host(node),
                        "this is a defect of muster; report it"});
  }
  if (upload->second.pieces.complete()) contribute(node, frame.id);
}

void ModexRouter::contribute(int node, uint32_t id) {
  auto upload = uploads_.extract(Peer{node, id});
  if (upload.empty()) return;
  FenceContribution contribution;
  contribution.node = node;
  contribution.id = id;
  contribution.participants = std::move(upload.mapped().call.participants);
  contribution.sequence = upload.mapped().call.sequence;
  contribution.data = upload.mapped().pieces.take();
  log::debug("{}: {} #{}, {} bytes", world_.host(node),
             contribution.participants, contribution.sequence,
             contribution.data.size());
  const bool all = contribution.participants.ends_with(kAllRanks);
  auto outcome = fences_.add(std::move(contribution), Clock::now());
  if (!outcome) return protocol_error(node, outcome.error());
  if (!*outcome) return check_gone();
  if (all && !std::exchange(met_, true)) {
    log::info("MPI initialisation completed: all {} ranks have met after {}",
              stages_.size(), human_duration_ms(since(began_).count()));
  }
  delivery_.add(std::move(**outcome));
}

void ModexRouter::get(int node, const wire::Frame& frame) {
  const auto request = wire::modex_from_json<wire::ModexGet>(frame.payload);
  if (!request || !world_.has(request->rank)) {
    send(node, wire::FrameType::kModexReply, frame.id,
         wire::to_json(wire::ModexReply{"there is no such rank", 0}));
    return;
  }
  DirectGets::Get get;
  get.asker = node;
  get.id = frame.id;
  get.owner = world_.node_of(request->rank);
  get.rank = request->rank;
  get.since = Clock::now();
  gets_.ask(std::move(get));
}

void ModexRouter::names(int node, const wire::Frame& frame) {
  const auto request = wire::modex_from_json<wire::NamesRequest>(frame.payload);
  if (!request) return protocol_error(node, request.error());
  if (!speaks_for(node, request->owner)) return;
  const uint64_t ticket = ticket_of(node, frame.id);
  if (request->operation == "lookup" && request->wait) {
    const Milliseconds wait =
        request->timeout_ms > 0 ? Milliseconds{request->timeout_ms} : deadline_;
    if (wait.count() > 0) lookups_[ticket] = Clock::now() + wait;
  }
  answer_names(board_.handle(ticket, *request));
}

void ModexRouter::answer_names(const std::vector<NameBoard::Answer>& answers) {
  for (const NameBoard::Answer& answer : answers) {
    lookups_.erase(answer.ticket);
    std::string reply = wire::to_json(answer.reply);
    if (reply.size() > wire::kMaxPayload) {  // several large values at once
      reply = wire::to_json(wire::NamesReply{"full", {}, {}, {}});
    }
    send(static_cast<int>(answer.ticket >> 32), wire::FrameType::kNamesReply,
         static_cast<uint32_t>(answer.ticket), reply);
  }
}

// A node speaks for its own ranks only; if not, the job ends.
bool ModexRouter::speaks_for(int node, int rank) {
  const bool exists = world_.has(rank);
  if (exists && world_.node_of(rank) == node) return true;
  const std::string whose =
      exists ? world_.who(rank) : "rank " + std::to_string(rank) + ", unknown";
  protocol_error(node, Error{"protocol", "an agent spoke for another's rank",
                             whose, "", "this is a defect of muster"});
  return false;
}

void ModexRouter::rank_state(int node, const wire::Frame& frame) {
  const auto state = wire::modex_from_json<wire::RankState>(frame.payload);
  if (!state) return protocol_error(node, state.error());
  if (!speaks_for(node, state->rank)) return;
  Stage& stage = stages_[static_cast<size_t>(state->rank)];
  if (state->state == "aborted") {
    events_.on_abort(state->rank, state->code, state->message);
  } else if (state->state == "finalized") {
    stage = Stage::kFinalized;
  } else if (state->state == "connected") {
    stage = Stage::kConnected;
    if (!any_connected_) first_connected_ = Clock::now();
    any_connected_ = true;
    // Within one node they meet without the launcher.
    const auto& own = world_.ranks_of(world_.node_of(state->rank));
    if (stages_.size() > 1 && own.size() == stages_.size() &&
        ranks_in(Stage::kStarted).empty() && ranks_in(Stage::kGone).empty() &&
        !std::exchange(met_, true)) {
      log::info("MPI initialisation: all {} ranks have reached it after {}",
                stages_.size(), human_duration_ms(since(began_).count()));
      reached_on_one_node_ = Clock::now();
    }
    check_gone();
  }
}

void ModexRouter::spread(int node, const wire::Frame& frame) {
  if (frame.payload.size() > wire::kModexPiece) return;
  for (int other = 0; other < world_.nodes(); ++other) {
    if (other == node || world_.ranks_of(other).empty()) continue;
    send(other, wire::FrameType::kRankEvent, 0, frame.payload);
  }
}

void ModexRouter::announce_end(int rank, const wire::Exited& exit) {
  ended_.add({rank, exit.wait_status}, exit.wait_status != 0);
}

void ModexRouter::rank_ended(int rank, const wire::Exited& exit) {
  Stage& stage = stages_[static_cast<size_t>(rank)];
  const bool well = exit.wait_status == 0;
  const bool left_open = exit.mpi_attached && !exit.mpi_finalized;
  if (well && left_open && exit.by_pmix) {
    broken(Error{"exit_without_finalize",
                 world_.who(rank) + " ended with code 0 without MPI_Finalize",
                 {},
                 {},
                 "Call MPI_Finalize on every way out of the program, or "
                 "MPI_Abort where it gives up."},
           rank);
  } else if (well && left_open && !left_) {
    left_ = {rank, Clock::now()};
  } else if (well && !exit.mpi_attached && !absent_) {
    absent_ = {rank, Clock::now()};
  }
  // Failures end the job without our help.
  if (well && !exit.mpi_finalized && stage != Stage::kFinalized) {
    stage = Stage::kGone;
  } else {
    stage = Stage::kFinalized;
  }
  check_gone();
}

bool ModexRouter::any_connected_now() const {
  return std::any_of(stages_.begin(), stages_.end(),
                     [](Stage stage) { return stage == Stage::kConnected; });
}

std::vector<int> ModexRouter::connected_nodes() const {
  std::set<int> nodes;
  for (const int rank : ranks_in(Stage::kConnected)) {
    nodes.insert(world_.node_of(rank));
  }
  return {nodes.begin(), nodes.end()};
}

// Only they know whether others wait for it in a collective. Reported once.
void ModexRouter::tell_left(Clock::time_point now) {
  if (!left_ || now - left_->second < kLeaving) return;
  left_->second = Clock::time_point::max();
  if (any_connected_now()) {
    log::warn(
        "{} ended with code 0 without MPI_Finalize. Ranks that wait for it in "
        "a collective wait for ever; --hang-timeout names them",
        world_.who(left_->first));
  }
}

// A rank waits for one that has left, and would wait for ever.
void ModexRouter::check_gone() {
  if (!any_connected_now()) return;
  for (const int rank : ranks_in(Stage::kGone)) {
    if (fences_.awaits(rank)) return left_fence(rank);
  }
}

// Within one node they wait in MPI_Init without a fence of ours.
void ModexRouter::check_absent(Clock::time_point now) {
  if (!absent_ || now - absent_->second < kLeaving) return;
  const auto& beside = world_.ranks_of(world_.node_of(absent_->first));
  const bool waited_for =
      std::any_of(beside.begin(), beside.end(), [this](int rank) {
        return stages_[static_cast<size_t>(rank)] == Stage::kConnected;
      });
  if (waited_for) left_fence(absent_->first);
}

void ModexRouter::left_fence(int rank) {
  broken(
      Error{
          "rank_left_fence",
          world_.who(rank) + " ended with code 0 while other ranks wait for it",
          "they are in MPI_Init, MPI_Finalize or a fence",
          {},
          "Every rank must call MPI_Init and MPI_Finalize; look for a way out "
          "of the program between them."},
      rank);
}

std::vector<int> ModexRouter::ranks_in(Stage stage) const {
  std::vector<int> out;
  for (size_t rank = 0; rank < stages_.size(); ++rank) {
    if (stages_[rank] == stage) out.push_back(static_cast<int>(rank));
  }
  return out;
}

void ModexRouter::tick() {
  tick_.start(kTick, [this] { tick(); });
  const auto now = Clock::now();
  for (auto lookup = lookups_.begin(); lookup != lookups_.end();) {
    const auto [ticket, at] = *lookup++;
    if (at > now) continue;
    if (const auto answer = board_.expire(ticket)) {
      answer_names({*answer});
    } else {
      lookups_.erase(ticket);
    }
  }
  tell_left(now);
  check_absent(now);
  if (deadline_.count() > 0) expire(now);
}

void ModexRouter::expire(Clock::time_point now) {
  const std::string waited = human_duration_ms(deadline_.count());
  if (any_connected_ && now - first_connected_ > deadline_) {
    const auto late = ranks_in(Stage::kStarted);
    if (!late.empty()) {
      return broken(
          Error{"rank_missing",
                ranks_on_hosts(world_, late, kHostsNamed) +
                    " did not reach MPI_Init within " + waited +
                    " of the first rank that did",
                {},
                {},
                "See what it is doing there (py-spy, gdb, its log), or give it "
                "more time with --start-timeout."},
          only_one(late));
    }
  }
  for (const StalledFence& fence : fences_.stalled(now - deadline_)) {
    if (!met_ && fence.participants.ends_with(kAllRanks)) {
      check_first_fence(fence, now);
    } else if (told_.emplace(fence.participants, fence.sequence).second) {
      log::info("a fence has waited {} for {}", waited,
                ranks_on_hosts(world_, fence.missing_ranks, kHostsNamed));
    }
  }
  if (reached_on_one_node_ && now - *reached_on_one_node_ > deadline_) {
    check_one_node(now);
  }
  for (const DirectGets::Get& get : gets_.expire(now - deadline_)) {
    const std::string why =
        get.sent ? world_.who(get.rank) + " did not answer in " + waited
                 : world_.host(get.asker) +
                       " does not read what it has asked for before";
    send(get.asker, wire::FrameType::kModexReply, get.id,
         wire::to_json(wire::ModexReply{why, 0}));
  }
}

void ModexRouter::missing_in_init(const std::vector<int>& ranks) {
  broken(Error{"rank_missing",
               "MPI_Init waited " + human_duration_ms(deadline_.count()) +
                   " for " + ranks_on_hosts(world_, ranks, kHostsNamed),
               {},
               {},
               std::string(ranks.size() == 1 ? "It hangs"
                                             : "At least one of them hangs") +
                   "; see what it is doing there (py-spy, gdb, its log)."},
         only_one(ranks));
}

// Only whole nodes can be missing: the ranks of one meet before they reach us.
void ModexRouter::check_first_fence(const StalledFence& fence,
                                    Clock::time_point now) {
  const auto absent = roll_call_.absent_among(fence.missing_ranks, now);
  if (!absent) return;
  missing_in_init(absent->empty() ? fence.missing_ranks : *absent);
}

// Nothing shows whether these have met. But those that have put their data are
// in the fence, or past it if all have.
void ModexRouter::check_one_node(Clock::time_point now) {
  const auto ranks = ranks_in(Stage::kConnected);
  if (ranks.size() < stages_.size()) {  // one has even left MPI again
    reached_on_one_node_.reset();
    return;
  }
  const auto absent = roll_call_.absent_among(ranks, now);
  if (!absent) return;
  reached_on_one_node_.reset();
  if (!absent->empty() && absent->size() < ranks.size()) {
    missing_in_init(*absent);
  }
}

void ModexRouter::protocol_error(int node, const Error& error) {
  broken({error.code, error.what, error.why, world_.host(node), error.hint});
}

void ModexRouter::broken(Error error, int rank) {
  if (broken_) return;
  broken_ = true;
  events_.on_broken(std::move(error), rank);
}

}  // namespace muster
