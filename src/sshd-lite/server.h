// SPDX-License-Identifier: Apache-2.0
// The SSH server's parent side: accepts, queues silent peers, forks a
// connection child for each peer that speaks, and answers its children's
// questions over their link. Does not parse bytes of the network; treats the
// bytes of a child as hostile. Refuses: more than max_connections that have
// logged in. Of those that have not, max_unauthenticated have a child; a newer
// one costs the oldest of the busiest address its place, so that no flood keeps
// a launcher out. A peer that has proved the job key counts as logged in: it
// does not wait, and no stranger can cost it its place. Owned by pid 1, on its
// loop; the Reaper is the process' only one.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/loop.h"
#include "base/reaper.h"
#include "sshd-lite/audit.h"
#include "sshd-lite/channel_pump.h"
#include "sshd-lite/door.h"
#include "sshd-lite/keys.h"
#include "sshd-lite/link.h"
#include "sshd-lite/ready_queue.h"
#include "sshd-lite/start_pace.h"

namespace muster {

struct ServerOptions {
  std::string address;  // "": every interface
  int port = 2222;      // 0: any
  size_t max_unauthenticated = 64;
  size_t max_connections = 1024;
  size_t max_waiting = 4096;         // in the queue, and for a process, each
  Milliseconds door_timeout{5000};   // to send its first bytes
  Milliseconds auth_timeout{10000};  // each: key exchange, authentication
  bool fips = false;
  AuditOptions audit;
};

using ConnectionId = uint64_t;

struct StartedProgram {
  ProgramPipes pipes;
  pid_t pid = 0;
  std::string kind;   // for the audit trail: "agent", "daemon", …
  std::string shown;  // of the command; may be empty
};

struct ServerEvents {
  // Starts the command, or returns why not (Error::text() goes to the client).
  std::function<Result<StartedProgram>(ConnectionId, const ExecRequest&)>
      on_exec;
  std::function<void(ConnectionId, int signal)> on_signal;
  // The session is over; its program, if any, may still run.
  std::function<void(ConnectionId)> on_closed;
};

class Server {
 public:
  static Result<std::unique_ptr<Server>> listen(Loop& loop, Reaper& reaper,
                                                KeyStore& keys,
                                                ServerOptions options,
                                                ServerEvents events);
  ~Server();  // kills the connection children

  [[nodiscard]] int port() const;
  [[nodiscard]] size_t connections() const { return children_.size(); }
  // Accepts no connections from here on; existing ones stay.
  void stop_accepting();
  // The program that on_exec started has ended; the client gets the exit status
  // after all output. Ignored if the session is over.
  void report_exit(ConnectionId connection, int wait_status);

 private:
  struct Child {
    ConnectionId id = 0;
    pid_t pid = 0;
    UniqueFd link;
    // Ours too until the peer has logged in, so that a peer that loses its
    // place can go back to the queue.
    UniqueFd socket;
    std::unique_ptr<FdWatch> watch;
    std::unique_ptr<Timer> deadline;  // to log in; to leave after its program
    std::string peer;
    std::string key;
    Clock::time_point born{};
    bool proven = false;  // in the queue
    bool keys_agreed = false;
    bool authenticated = false;
    bool asked = false;
    int unserved = 0;   // of its requests
    bool gone = false;  // its last messages are being read
    // From this machine: held until the connection is clearly not a probe. The
    // trail records only the end of a probe.
    std::vector<AuditRecord> held;
    bool is_probe = false;        // that runs, without a record so far
    bool is_kubelets = false;     // by its user name; few of those are recorded
    Clock::time_point started{};  // the program; 0: none
  };

  Server(Loop& loop, Reaper& reaper, KeyStore& keys, ServerOptions options,
         ServerEvents events, UniqueFd socket);
  void accept_some();
  void start_child(Visitor visitor);
  [[nodiscard]] size_t strangers() const;
  bool may_start(const std::string& peer);
  bool may_have_child();
  bool make_room();
  void turn_out(Child& child);
  std::list<Child>::iterator find_victim(bool keys_agreed);
  void serve(Visitor visitor);
  void serve_waiting();
  void adopt_child(Child child);
  Child* find(ConnectionId id);
  bool read_link(ConnectionId id);  // false: no more messages
  void handle(Child& child, const LinkRequest& request);
  void logged_in(Child& child, const Authenticated& who);
  void handle_exec(Child& child, const ExecRequest& request);
  void end_if_stopped(ConnectionId connection);
  void write_held(Child& child);
  bool is_one_of_many(const Child& child, int wait_status);
  void child_ended(ConnectionId id);
  [[nodiscard]] AuditRecord record(std::string_view event,
                                   const Child& child) const;

  // Probes that ended well, without a record, since the last one.
  int64_t quiet_probes_ = 0;
  Clock::time_point probe_told_{};  // 0: the next one has a record

  Loop& loop_;
  Reaper& reaper_;
  KeyStore& keys_;
  ServerOptions options_;
  ServerEvents events_;
  UniqueFd socket_;
  std::unique_ptr<FdWatch> watch_;
  Timer accept_again_;
  Door door_;
  ReadyQueue ready_;
  Timer ready_timer_;
  StartPace pace_;
  std::set<pid_t> leaving_;  // killed and not reaped yet
  AuditLog audit_;
  std::list<Child> children_;  // oldest first
  ConnectionId next_id_ = 1;
};

}  // namespace muster
