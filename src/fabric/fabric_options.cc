// SPDX-License-Identifier: Apache-2.0
#include "fabric/fabric_options.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace muster {

namespace {

constexpr std::array<std::string_view, 8> kCommands = {
    "show", "plan", "explain", "env", "check", "bench", "mpi", "nccl"};
// `muster launch` has them too, with the same meaning.
constexpr std::array<std::string_view, 7> kLaunchOptions = {
    "--hostfile", "-H",         "--local",   "--transport",
    "--key-dir",  "--ssh-port", "--ssh-user"};

tl::unexpected<Error> usage(std::string why) {
  return fail({.code = "usage",
               .what = "muster fabric",
               .why = std::move(why),
               .where = {},
               .hint = "`muster fabric --help` shows the commands"});
}

Status take(FabricOptions& out, const std::string& name,
            const std::string& value) {
  if (name == "--facts") {
    out.facts.push_back(value);
  } else if (name == "--sysroot") {
    out.sysroot = value;
  } else if (name == "--profile") {
    out.profile = value;
  } else if (name == "--app-profile") {
    out.app_profiles.push_back(value);
  } else if (name == "--nccl") {
    out.nccl = value;
  } else if (name == "--site") {
    out.site = value;
  } else if (name == "--pod") {
    out.pod = value;
  } else if (name == "--listen") {
    out.listen = value;
  } else if (name == "--peer") {
    out.peer = value;
  } else if (name == "-o" || name == "--output") {
    if (value != "json" && value != "text") {
      return usage("-o takes json or text, not \"" + value + "\"");
    }
    out.json = value == "json";
  } else if (name == "--timeout") {
    const auto time = parse_duration_ms(value);
    if (!time || *time < 1 || *time > 600'000) {
      return usage("--timeout takes 1ms to 10m");
    }
    out.timeout_ms = static_cast<int>(*time);
  } else if (name == "--megabytes") {
    const auto size = parse_integer(value);
    if (!size || *size < 1 || *size > 4096) {
      return usage("--megabytes takes 1 to 4096");
    }
    out.megabytes = static_cast<int>(*size);
  } else if (name == "--port") {
    const auto port = parse_integer(value);
    if (!port || *port < 0 || *port > 65535) {
      return usage("--port takes 0 to 65535");
    }
    out.port = static_cast<int>(*port);
  } else if (name == "--rounds") {
    const auto rounds = parse_integer(value);
    if (!rounds || *rounds < 1 || *rounds > 10'000) {
      return usage("--rounds takes 1 to 10000");
    }
    out.rounds = static_cast<int>(*rounds);
  } else if (name == "--report") {
    out.report = value;
  } else if (name == "--connect-timeout") {
    out.connect_timeout = value;
  } else if (std::find(kLaunchOptions.begin(), kLaunchOptions.end(), name) !=
             kLaunchOptions.end()) {
    out.launch.push_back(name);
    out.launch.push_back(value);
  } else {
    return usage("unknown option " + name);
  }
  return {};
}

bool many(const std::string& name) { return name == "--facts"; }

}  // namespace

std::string fabric_usage() {
  return "muster fabric COMMAND [OPTIONS]\n"
         "  show      this pod: adapters, interfaces, GPUs, what NCCL would "
         "do\n"
         "  plan      what to set in each pod, and why\n"
         "  explain   every decision with what lost against it\n"
         "  env       the settings as export lines\n"
         "  check     the whole job from its launcher pod, or one pair "
         "(--peer, --listen)\n"
         "  bench     the same, measured: latency, bandwidth, outliers\n"
         "  mpi       ping-pong and allreduce through the job's own MPI\n"
         "  nccl      all-reduce through the job's own NCCL, on its GPUs\n"
         "options\n"
         "  --facts FILE...      facts files instead of this pod (- is stdin)\n"
         "  --sysroot DIR        a recorded system instead of this one\n"
         "  --profile P          auto, tcp, rdma, rl (ppo, grpo, gapo, ...)\n"
         "  --app-profile A=P    profile of one application of an MPMD line\n"
         "  --nccl VERSION       instead of the one in the image; nccl: "
         "PATH of libnccl.so.2\n"
         "  --site FILE          the site's values (else MUSTER_FABRIC_SITE)\n"
         "  --pod NAME           env: for which pod\n"
         "  --listen [HOST:]PORT --peer HOST:PORT --timeout TIME "
         "--megabytes N\n"
         "  --port N --rounds N --connect-timeout TIME, and of `muster "
         "launch`: -H --hostfile\n"
         "  --local --transport --key-dir --ssh-port --ssh-user    over a "
         "job\n"
         "  -o json              for programs\n"
         "  -- COMMAND           show, plan, explain, env, nccl: with the "
         "NCCL that it will load;\n"
         "                       of several programs (A : B) that of the "
         "first\n";
}

Result<FabricOptions> parse_fabric_options(
    const std::vector<std::string>& args) {
  FabricOptions out;
  if (args.empty()) return usage("a command is missing");
  out.command = args.front();
  if (std::find(kCommands.begin(), kCommands.end(), out.command) ==
      kCommands.end()) {
    const auto meant =
        nearest(out.command,
                std::vector<std::string>(kCommands.begin(), kCommands.end()));
    return usage("no command \"" + out.command + "\"" +
                 (meant ? "; did you mean " + *meant + "?" : ""));
  }
  for (size_t i = 1; i < args.size(); ++i) {
    std::string name = args[i];
    if (name == "--") {
      out.program.assign(args.begin() + static_cast<ptrdiff_t>(i) + 1,
                         args.end());
      break;
    }
    if (!name.starts_with('-')) return usage("unexpected word " + name);
    const size_t equals = name.find('=');
    if (name.starts_with("--") && equals != name.npos) {
      const Status status =
          take(out, name.substr(0, equals), name.substr(equals + 1));
      if (!status) return fail(status.error());
      continue;
    }
    if (i + 1 >= args.size()) return usage(name + " needs a value");
    do {
      if (Status status = take(out, name, args[++i]); !status) {
        return fail(status.error());
      }
    } while (many(name) && i + 1 < args.size() &&
             (args[i + 1] == "-" || !args[i + 1].starts_with('-')));
  }
  return out;
}

}  // namespace muster
