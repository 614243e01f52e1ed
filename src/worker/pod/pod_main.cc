// SPDX-License-Identifier: Apache-2.0
#include "worker/pod/pod_main.h"

#include <glob.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/hostname.h"
#include "base/log.h"
#include "base/mesh.h"
#include "base/read_command_line.h"
#include "base/self_path.h"
#include "base/text.h"
#include "job/exit_codes.h"
#include "job/own_variables.h"
#include "job/termination_message.h"
#include "sshd-lite/sshd_args.h"
#include "worker/pod/pod_options.h"
#include "worker/pod/pod_worker.h"

namespace muster {

namespace {

constexpr const char* kStockConfig = "/etc/ssh/sshd_config";

int failed(const Error& error, ExitClass exit_class,
           const std::string& termination_log) {
  log::error("{}", error.text());
  write_termination_message(termination_log,
                            "muster worker: " + error.text() + "\n");
  return exit_code_for(exit_class);
}

int run_worker(PodOptions options) {
  const std::string termination_log = options.termination_log;
  const auto agent = agent_path();
  if (!agent) {
    return failed(agent.error(), ExitClass::kConfiguration, termination_log);
  }
  options.agent = *agent;
  const Mesh mesh = mesh_of(options.mesh);
  Loop loop;
  PodWorker worker(loop, std::move(options));
  if (const auto started = worker.start(); !started) {
    return failed(started.error(), ExitClass::kConfiguration, termination_log);
  }
  loop.run();
  mesh_quit(mesh);
  return worker.exit_code();
}

struct WorkerArgs {
  PodOptions pod;
  std::string key_dir;
  std::string release = "never";
  std::string orphan_grace = "30m";
  std::string stop_grace = "20s";
  bool verbose = false;
};

void define_options(CLI::App& app, WorkerArgs& out) {
  app.add_option("--port", out.pod.port, "SSH port (2222)")
      ->envname("MUSTER_PORT")
      ->transform(whole_number(1, 65535));
  app.add_option("--address", out.pod.address,
                 "IP address to listen on (every one)");
  app.add_option("--key-dir", out.key_dir,
                 "directory with id_rsa and authorized_keys (found by itself)");
  app.add_flag("--allow-any-command", out.pod.allow_any_command,
               "let holders of the job key run anything, as sshd does")
      ->envname("MUSTER_ALLOW_ANY_COMMAND");
  app.add_flag("--allow-mpi-daemons,!--refuse-mpi-daemons",
               out.pod.allow_mpi_daemons,
               "start orted, prted and the Hydra proxies for launchers without "
               "muster (yes)")
      ->envname("MUSTER_ALLOW_MPI_DAEMONS");
  app.add_flag("--fips", out.pod.fips,
               "only FIPS-approved algorithms (by itself where the platform "
               "is in FIPS mode)")
      ->envname("MUSTER_FIPS");
  app.add_option("--audit-log", out.pod.audit_log,
                 "file for audit records (stderr); none: write none")
      ->envname("MUSTER_AUDIT_LOG");
  app.add_option("--release", out.release,
                 "success: leave with 0 once a job has succeeded")
      ->envname("MUSTER_RELEASE")
      ->check(CLI::IsMember({"never", "success"}));
  app.add_option("--orphan-grace", out.orphan_grace,
                 "leave with 201 if a lost launcher does not return for so "
                 "long (30m); 0: never")
      ->envname("MUSTER_ORPHAN_GRACE");
  app.add_option("--grace", out.stop_grace,
                 "time for a job to end after SIGTERM (20s); keep it below "
                 "terminationGracePeriodSeconds")
      ->envname("MUSTER_WORKER_GRACE");
  app.add_option("--mesh", out.pod.mesh,
                 "end this mesh's proxy in the pod when the worker leaves")
      ->envname("MUSTER_MESH")
      ->check(CLI::IsMember({"none", "istio", "linkerd"}));
  app.add_flag("-v,--verbose", out.verbose, "debug messages");
}

// Checks durations and the key directory, which CLI11 cannot check.
Status finish_options(WorkerArgs& args) {
  const auto orphan = parse_duration_ms(args.orphan_grace);
  const auto grace = parse_duration_ms(args.stop_grace);
  if (!orphan || !grace) {
    return fail(Error{"usage", "not a duration",
                      orphan ? args.stop_grace : args.orphan_grace,
                      orphan ? "--grace" : "--orphan-grace",
                      "write it as 90s, 15m or 1h30m"});
  }
  args.pod.orphan_grace = Milliseconds(*orphan);
  args.pod.stop_grace = Milliseconds(*grace);
  args.pod.release_on_success = args.release == "success";
  const auto found =
      args.key_dir.empty() ? find_key_dir() : std::optional(args.key_dir);
  if (found) args.pod.keys = key_files_in(*found);
  return {};
}

// Whether the log is in JSON.
bool configure_log(bool verbose) {
  const char* format = std::getenv("MUSTER_LOG_FORMAT");
  const char* level = std::getenv("MUSTER_LOG_LEVEL");
  log::Options options;
  options.role = "worker";
  options.json = format != nullptr && std::string_view(format) == "json";
  if (verbose || (level != nullptr && std::string_view(level) == "debug")) {
    options.level = log::Level::kDebug;
  }
  options.host = own_hostname();
  log::configure(options);
  for (const auto& sentence : misspelled_variables(current_environment())) {
    log::warn("{}", sentence);
  }
  return options.json;
}

std::string home_directory() {
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/') {
    return home;
  }
  const passwd* entry = ::getpwuid(::geteuid());
  return entry != nullptr && entry->pw_dir != nullptr ? entry->pw_dir : "/";
}

// The files of a pattern, sorted; none if nothing matches.
std::vector<ConfigFile> included_files(const std::string& pattern) {
  std::vector<ConfigFile> out;
  glob_t found{};
  const auto denied = [](const char*, int error) {
    return error == EACCES ? 1 : 0;
  };
  const int result = ::glob(pattern.c_str(), 0, denied, &found);
  if (result == GLOB_ABORTED) {
    out.push_back(
        {pattern,
         fail(
             Error{"usage", "cannot be read", strerror(EACCES), pattern, {}})});
  } else if (result == 0) {
    for (size_t i = 0; i < found.gl_pathc; ++i) {
      out.push_back({found.gl_pathv[i], read_file(found.gl_pathv[i])});
    }
  }
  ::globfree(&found);
  return out;
}

// The file of -f, or else the image's own sshd_config without its key settings:
// they are about a machine, not about this job. A missing file restricts
// nothing; an unreadable one might.
Result<SshdConfig> read_config(const SshdArgs& args) {
  const bool given = !args.config_file.empty();
  const std::string path = given ? args.config_file : kStockConfig;
  const auto text = read_file(path);
  if (!text) {
    const bool there = ::access(path.c_str(), F_OK) == 0;
    if (given && there) return tl::unexpected(text.error());
    if (given || there) {
      log::warn("{}; going on with -p, -o and defaults", text.error().text());
    }
    return SshdConfig{};
  }
  auto config = parse_sshd_config(*text, path, included_files);
  if (config && !given) {
    config->host_keys.clear();
    config->authorized_keys.clear();
    config->strict_modes.reset();
  }
  return config;
}

SshdAccount own_account() {
  SshdAccount out;
  out.is_root = ::geteuid() == 0;
  if (const passwd* entry = ::getpwuid(::geteuid())) out.user = entry->pw_name;
  std::vector<gid_t> ids(static_cast<size_t>(::getgroups(0, nullptr)) + 1);
  const int count =
      ::getgroups(static_cast<int>(ids.size()) - 1, ids.data() + 1);
  ids[0] = ::getegid();
  ids.resize(static_cast<size_t>(std::max(count, 0)) + 1);
  for (const gid_t id : ids) {
    if (const group* entry = ::getgrgid(id))
      out.groups.push_back(entry->gr_name);
  }
  return out;
}

Status check_limits(const SshdConfig& config) {
  const auto unmet = unmet_limits(config.limits, own_account());
  if (unmet.empty()) return {};
  return fail(Error{"configuration_wrong",
                    "cannot start as sshd: its configuration restricts access "
                    "in a way that this server does not obey",
                    join(unmet, "; "),
                    {},
                    "remove the line, or start `muster worker`, which reads "
                    "no sshd_config"});
}

// As in sshd's StrictModes: no other user may write to the file or to a
// directory above it.
bool only_we_write(const std::string& file) {
  for (std::filesystem::path path = file;; path = path.parent_path()) {
    struct stat state {};
    if (::stat(path.c_str(), &state) != 0) return false;
    const bool ours = state.st_uid == 0 || state.st_uid == ::geteuid();
    if (!ours || (state.st_mode & (S_IWGRP | S_IWOTH)) != 0) return false;
    if (path == path.parent_path()) return true;
  }
}

// The options of command line and file, completed from the key directory.
KeyFiles choose_keys(const SshdConfig& config) {
  const auto directory = find_key_dir();
  KeyFiles keys = directory ? key_files_in(*directory) : KeyFiles{};
  for (const std::string& file : config.host_keys) {
    if (::access(file.c_str(), R_OK) == 0) {
      keys.private_key = file;
      break;
    }
    log::warn("{}: HostKey cannot be read", file);
  }
  if (!config.authorized_keys.empty()) {
    keys.authorized.clear();
    keys.only_authorized = true;
  }
  const std::string user = own_account().user;
  for (const std::string& name : config.authorized_keys) {
    auto file = resolve_key_file(name, {home_directory(), user, ::geteuid()});
    if (!file.empty()) keys.authorized.push_back(std::move(file));
  }
  if (!config.strict_modes.value_or(false)) return keys;
  const auto unsafe = [](const std::string& file) {
    std::error_code error;
    const auto real = std::filesystem::canonical(file, error);
    if (error || only_we_write(real.string())) return false;
    log::warn(
        "{}: others may write to it or to a directory above it, so "
        "StrictModes leaves it out; make both writable by their owner alone",
        file);
    return true;
  };
  keys.only_authorized =
      std::erase_if(keys.authorized, unsafe) > 0 || keys.only_authorized;
  return keys;
}

}  // namespace

int worker_main(const std::vector<std::string>& args) {
  WorkerArgs parsed;
  CLI::App app("pid 1 of a worker pod", "muster worker");
  define_options(app, parsed);
  if (const auto code = read_command_line(app, args)) return *code;
  parsed.pod.log_json = configure_log(parsed.verbose);
  if (const auto ready = finish_options(parsed); !ready) {
    log::error("{}", ready.error().text());
    return exit_code_for(ExitClass::kUsage);
  }
  return run_worker(std::move(parsed.pod));
}

int sshd_main(const std::vector<std::string>& args) {
  const auto parsed = parse_sshd_args(args);
  const bool json = configure_log(parsed && parsed->debug);
  if (!parsed) {
    log::error("{}", parsed.error().text());
    return exit_code_for(ExitClass::kUsage);
  }
  if (parsed->version) {
    std::puts("muster " MUSTER_VERSION " (as sshd)");
    return 0;
  }
  const auto file = read_config(*parsed);
  if (!file) {
    log::error("{}", file.error().text());
    return exit_code_for(ExitClass::kConfiguration);
  }
  const SshdConfig config = merge(parsed->given, *file);
  for (const std::string& note : config.ignored) {
    log::debug("{} is ignored", note);
  }
  for (const std::string& problem : config.problems) log::warn("{}", problem);
  // The environment sets the rest: the YAML's command is OpenSSH's.
  WorkerArgs settings;
  settings.pod.log_json = json;
  CLI::App app;
  define_options(app, settings);
  drop_service_links(app);
  try {
    app.parse(std::vector<std::string>{});
  } catch (const CLI::ParseError& error) {
    const std::string problem = error.what();
    log::error("{}{}", problem, set_by(app, problem));
    return exit_code_for(ExitClass::kUsage);
  }
  if (const auto ready = finish_options(settings); !ready) {
    log::error("{}", ready.error().text());
    return exit_code_for(ExitClass::kUsage);
  }
  if (const auto met = check_limits(config); !met) {
    return failed(met.error(), ExitClass::kConfiguration,
                  settings.pod.termination_log);
  }
  if (config.port) settings.pod.port = *config.port;
  if (!config.address.empty()) settings.pod.address = config.address;
  settings.pod.keys = choose_keys(config);
  if (parsed->test_only) {
    const auto keys = load_keys(settings.pod.keys);
    if (!keys) log::error("{}", keys.error().text());
    return keys ? 0 : 1;
  }
  return run_worker(std::move(settings.pod));
}

}  // namespace muster
