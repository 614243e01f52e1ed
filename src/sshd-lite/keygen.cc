// SPDX-License-Identifier: Apache-2.0
#include "sshd-lite/keygen.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>

#include "base/fd.h"
#include "base/log.h"
#include "base/read_command_line.h"
#include "base/text.h"
#include "job/base64.h"

namespace muster {

namespace {

struct KeygenOptions {
  std::string output = "yaml";
  std::string type = "ecdsa-p256";
  std::string name = "muster-ssh";
  std::string name_space;
};

KeyType key_type(const std::string& name) {
  if (name == "ed25519") return KeyType::kEd25519;
  if (name == "ecdsa-p521") return KeyType::kEcdsaP521;
  return KeyType::kEcdsaP256;
}

std::string public_line(const SshKey& key) {
  return key.type() + " " + key.public_base64() + " muster\n";
}

Status write_new_file(const std::string& path, std::string_view text) {
  UniqueFd fd(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd) {
    auto error = fail_errno("file_unwritable", "cannot make the file", path);
    if (errno == EEXIST) error.value().hint = "choose an empty directory";
    return error;
  }
  return write_all(fd.get(), text);
}

Status write_output(const KeygenOptions& options) {
  const auto key = SshKey::generate(key_type(options.type));
  if (!key) return tl::unexpected(key.error());
  if (options.output != "yaml") return write_key_files(*key, options.output);
  const auto yaml = secret_yaml(*key, options.name, options.name_space);
  if (!yaml) return tl::unexpected(yaml.error());
  return write_all(STDOUT_FILENO, *yaml);
}

bool is_name(const std::string& text) {
  if (is_dns_name(text)) return true;
  std::fprintf(stderr,
               "muster keygen: '%s' is not a name that Kubernetes takes: lower "
               "case letters, digits and dashes\n",
               text.c_str());
  return false;
}

}  // namespace

Result<std::string> secret_yaml(const SshKey& key, std::string_view name,
                                std::string_view name_space) {
  const auto secret = key.private_text();
  if (!secret) return tl::unexpected(secret.error());
  std::string out =
      "apiVersion: v1\nkind: Secret\ntype: kubernetes.io/ssh-auth\n"
      "metadata:\n  name: \"" +  // quoted: a bare 123 is a number to YAML
      std::string(name) +
      "\"\n";
  if (!name_space.empty()) {
    out += "  namespace: \"" + std::string(name_space) + "\"\n";
  }
  out += "data:\n  ssh-privatekey: " + base64_encode(*secret) +
         "\n  ssh-publickey: " + base64_encode(public_line(key)) + "\n";
  return out;
}

Status write_key_files(const SshKey& key, const std::string& directory) {
  const auto secret = key.private_text();
  if (!secret) return tl::unexpected(secret.error());
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
    return fail_errno("file_unwritable", "cannot make the directory",
                      directory);
  }
  const std::pair<const char*, std::string> files[] = {
      {"/id_rsa", *secret},
      {"/id_rsa.pub", public_line(key)},
      {"/authorized_keys", public_line(key)},
  };
  for (const auto& [name, text] : files) {
    if (auto written = write_new_file(directory + name, text); !written) {
      return written;
    }
  }
  return {};
}

int keygen_main(const std::vector<std::string>& args) {
  KeygenOptions options;
  CLI::App app("Make an SSH key pair for a job", "muster keygen");
  app.add_option("-o,--output", options.output,
                 "yaml: a Secret on stdout; else a directory for id_rsa, "
                 "id_rsa.pub and authorized_keys");
  app.add_option("--type", options.type, "ecdsa-p256 (valid under FIPS too)")
      ->check(CLI::IsMember({"ecdsa-p256", "ecdsa-p521", "ed25519"}));
  app.add_option("--name", options.name, "metadata.name of the Secret");
  app.add_option("--namespace", options.name_space,
                 "metadata.namespace of the Secret");
  if (const auto code = read_command_line(app, args)) return *code;
  if (!is_name(options.name)) return 2;
  if (!options.name_space.empty() && !is_name(options.name_space)) return 2;
  if (const auto written = write_output(options); !written) {
    log::error("{}", written.error().text());
    return 1;
  }
  return 0;
}

}  // namespace muster
