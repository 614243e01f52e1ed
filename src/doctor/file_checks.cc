// SPDX-License-Identifier: Apache-2.0
// Places to write, given paths, programs and their libraries, the user's name.
#include <array>

#include "base/text.h"
#include "doctor/checks.h"
#include "job/skew.h"

namespace muster {

namespace {

constexpr int64_t kLittleSpace = 1LL << 30;
constexpr int64_t kFewInodes = 1000;
constexpr int64_t kSlowWriteMs = 500;

void check_writable(const PodState& pod, DoctorFindings& out) {
  if (!pod.facts.writable.empty()) return;
  out.push_back(
      {{Severity::kError, "no_writable_dir", "nothing here can be written to",
        "tried $TMPDIR, /tmp and /dev/shm",
        "a read-only root needs a writable /tmp"},
       "containers:\n"
       "  - volumeMounts: [{name: tmp, mountPath: /tmp}]\n"
       "volumes:\n"
       "  - {name: tmp, emptyDir: {}}"});
}

// Operators start a worker by that name. A pod without an operator may well
// have another sshd.
void check_sshd(const PodState& pod, DoctorFindings& out) {
  if (pod.foreign_sshd.empty()) return;
  const bool of_operator =
      pod.contract.operator_kind != OperatorKind::kNone || pod.pid1_is_muster;
  out.push_back({{of_operator ? Severity::kWarning : Severity::kInfo,
                  "sshd_not_muster", "/usr/sbin/sshd is not muster",
                  "it is " + pod.foreign_sshd +
                      "; that name does not start a worker of muster",
                  "make the link again behind the package that took its "
                  "place (openssh-server): RUN ln -sf "
                  "/opt/muster/bin/muster /usr/sbin/sshd"},
                 {}});
}

bool is_local(const std::string& filesystem) {
  static constexpr std::array<std::string_view, 6> kLocal = {
      "overlay", "ext4", "xfs", "tmpfs", "btrfs", "ramfs"};
  for (const auto name : kLocal) {
    if (filesystem == name) return true;
  }
  return false;
}

void check_space(const PathState& path, DoctorFindings& out) {
  const bool little = path.free_bytes >= 0 && path.free_bytes < kLittleSpace;
  const bool few = path.free_inodes >= 0 && path.free_inodes < kFewInodes;
  if (little || few) {
    out.push_back(
        {{Severity::kWarning, "path_full", path.path + " is nearly full",
          little
              ? human_bytes(static_cast<uint64_t>(path.free_bytes)) + " free"
              : std::to_string(path.free_inodes) + " files may still be made",
          "make room, or give the claim more"},
         "spec: {resources: {requests: {storage: 100Gi}}}"});
  }
  if (path.write_ms > kSlowWriteMs) {
    out.push_back(
        {{Severity::kWarning, "path_slow", path.path + " is slow to write",
          "4 KiB to the disk took " + human_duration_ms(path.write_ms),
          "write logs and small files to a local directory and copy "
          "them in the end"},
         "volumes:\n  - {name: scratch, emptyDir: {}}"});
  }
}

void check_one_path(const PathState& path, DoctorFindings& out) {
  if (!path.exists) {
    out.push_back(
        {{Severity::kError, "path_missing", path.path + " is not there",
          path.reason, "mount it in the launcher and in every worker"},
         "volumeMounts: [{name: data, mountPath: " + path.path + "}]"});
    return;
  }
  if (!path.writable) {
    out.push_back({{Severity::kError, "path_unwritable",
                    path.path + " cannot be written to", path.reason,
                    "mount it writable, and let the pod's group own it"},
                   "securityContext: {fsGroup: 1000}\n"
                   "volumeMounts: [{name: data, mountPath: " +
                       path.path + ", readOnly: false}]"});
    return;
  }
  check_space(path, out);
  if (is_local(path.filesystem)) {
    out.push_back(
        {{Severity::kInfo, "path_local", path.path + " is this pod's own",
          "a " + path.filesystem + " filesystem",
          "other workers do not see the files that one writes there"},
         "volumes:\n"
         "  - {name: data, persistentVolumeClaim: {claimName: "
         "NAME}}  # ReadWriteMany"});
  }
}

void check_programs(const PodState& pod, DoctorFindings& out) {
  for (const ProgramState& program : pod.programs) {
    const bool by_path = program.program.find('/') != std::string::npos;
    if (program.path.empty() && by_path) {
      out.push_back({{Severity::kError, "exe_not_found",
                      program.program + " is not in this image",
                      "no program is there", "correct the path, or install it"},
                     ""});
    } else if (program.path.empty()) {
      out.push_back({{Severity::kError, "exe_not_found",
                      program.program + " is not in this image", "PATH",
                      "install it, or correct PATH"},
                     "env: [{name: PATH, value: \"/opt/app/bin:/usr/local/bin:"
                     "/usr/bin:/bin\"}]"});
    } else if (!program.missing.empty()) {
      out.push_back({{Severity::kError, "library_missing",
                      program.path + " cannot be loaded",
                      join(program.missing, ", ") + " not found",
                      "install its package, or set LD_LIBRARY_PATH"},
                     "env: [{name: LD_LIBRARY_PATH, value: /opt/app/lib}]"});
    }
  }
}

void check_nccls(const PodState& pod, DoctorFindings& out) {
  if (auto differ = nccls_differ(pod.facts.programs)) {
    out.push_back({std::move(*differ), ""});
  }
}

void check_user(const PodState& pod, DoctorFindings& out) {
  if (pod.facts.has_passwd_entry || pod.facts.uid < 0) return;
  const auto& env = pod.facts.environment;
  if (env.contains("USER") && env.contains("LOGNAME")) return;
  out.push_back({{Severity::kInfo, "user_unnamed",
                  "user " + std::to_string(pod.facts.uid) + " has no name",
                  "no entry in /etc/passwd, no USER",
                  "getpass.getuser() and the like fail; `muster entry` sets "
                  "both variables"},
                 "env:\n"
                 "  - {name: USER, value: job}\n"
                 "  - {name: LOGNAME, value: job}"});
}

}  // namespace

void check_files(const PodState& pod, DoctorFindings& out) {
  check_writable(pod, out);
  check_sshd(pod, out);
  for (const PathState& path : pod.paths) check_one_path(path, out);
  check_programs(pod, out);
  check_nccls(pod, out);
  check_user(pod, out);
}

}  // namespace muster
