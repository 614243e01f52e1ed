// SPDX-License-Identifier: Apache-2.0
// Looking into a made-up pod under a temporary root.
#include "job/pod_view.h"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "catch.h"

namespace muster {
namespace {

class FakeRoot {
 public:
  FakeRoot() {
    std::string name = "/tmp/muster-pod-XXXXXX";
    root_ = ::mkdtemp(name.data());
  }
  ~FakeRoot() { std::filesystem::remove_all(root_); }
  void write(const std::string& path, const std::string& text) {
    const std::filesystem::path full = root_ + path;
    std::filesystem::create_directories(full.parent_path());
    std::ofstream(full) << text;
  }
  void write_keys(const std::string& directory) {
    write(directory + "/..data/id_rsa", "key");
    std::filesystem::create_symlink("..data/id_rsa",
                                    root_ + directory + "/id_rsa");
    write(directory + "/authorized_keys", "key");
  }
  [[nodiscard]] const std::string& path() const { return root_; }

 private:
  std::string root_;
};

PodViewOptions options_of(const FakeRoot& root) {
  PodViewOptions options;
  options.root = root.path();
  options.uid = 1000;
  return options;
}

TEST_CASE("keys: homes first, then any mount") {
  FakeRoot root;
  root.write_keys("/any where/keys");
  root.write_keys("/home/mpiuser/.ssh");
  root.write_keys("/users/u/.ssh");
  root.write("/root/.ssh/id_rsa", "no authorized_keys beside it");
  root.write(
      "/etc/passwd",
      "root:x:0:0::/root:/bin/sh\nbroken\nu:x:1000:1::/users/u:/bin/sh\n");
  root.write("/proc/self/mountinfo",
             "1 0 0:1 / / rw - overlay o rw\n"
             "2 1 0:2 / /any\\040where/keys ro - tmpfs tmpfs ro\n");
  PodViewOptions options = options_of(root);
  CHECK(read_pod_view(options).key_dirs ==
        std::vector<std::string>{"/users/u/.ssh", "/home/mpiuser/.ssh",
                                 "/any where/keys"});
  CHECK(best_key_dir(options) == "/users/u/.ssh");
  root.write_keys("/h/.ssh");
  options.env = {{"HOME", "/h"}};
  options.uid = 4711;  // without a passwd entry
  CHECK(read_pod_view(options).key_dirs ==
        std::vector<std::string>{"/h/.ssh", "/home/mpiuser/.ssh",
                                 "/any where/keys"});
  CHECK(best_key_dir(options) == "/h/.ssh");
}

TEST_CASE("a mounted key that this user cannot read is told apart") {
  FakeRoot root;
  root.write_keys("/root/.ssh");
  root.write_keys("/etc/mpi-ssh");
  root.write_keys("/etc/unmounted");
  root.write("/proc/self/mountinfo",
             "1 0 0:1 / / rw - overlay o rw\n"
             "2 1 0:2 / /root/.ssh ro - tmpfs tmpfs ro\n"
             "3 1 0:3 / /etc/mpi-ssh ro - tmpfs tmpfs ro\n"
             "4 1 0:4 / /root/data rw - tmpfs tmpfs rw\n");
  const auto allow = [&root](const char* path, mode_t mode) {
    REQUIRE(::chmod((root.path() + path).c_str(), mode) == 0);
  };
  allow("", 0755);
  allow("/root", 0);
  allow("/etc/mpi-ssh/id_rsa", 0);
  allow("/etc/unmounted/id_rsa", 0);
  PodView view;
  // Root reads everything, so a thread of its own becomes another user.
  std::thread([&] {
    if (::geteuid() == 0) ::syscall(SYS_setresuid, 4711, 4711, 4711);
    view = read_pod_view(options_of(root));
  }).join();
  CHECK(view.key_dirs.empty());
  CHECK(view.locked_key_dirs ==
        std::vector<std::string>{"/root/.ssh", "/etc/mpi-ssh"});
  allow("/root", 0755);
}

TEST_CASE("hostfiles in the order of who names them") {
  FakeRoot root;
  root.write("/etc/mpi/hostfile", "a\n");
  root.write("/intel", "b\n");
  root.write("/own", "c\n");
  PodViewOptions options = options_of(root);
  options.env = {{"HYDRA_HOST_FILE", "/etc/mpi/hostfile"},
                 {"I_MPI_HYDRA_HOST_FILE", "/intel"},
                 {"OMPI_MCA_orte_default_hostfile", "/missing"}};
  PodView view = read_pod_view(options);
  REQUIRE(view.hostfiles.size() == 2);
  CHECK(view.hostfiles[0].path == "/intel");
  CHECK(view.hostfiles[0].text == "b\n");
  CHECK(view.hostfiles[1].path == "/etc/mpi/hostfile");
  options.hostfile = "/own";
  view = read_pod_view(options);
  REQUIRE(view.hostfiles.size() == 1);
  CHECK(view.hostfiles[0].text == "c\n");
}

TEST_CASE("ssh configuration, the file of sshd -f first") {
  FakeRoot root;
  root.write("/etc/ssh/ssh_config", "Port 1\n");
  root.write("/home/mpiuser/.sshd_config", "Port 2\n");
  root.write("/x/sshd_config", "Port 3\n");
  PodViewOptions options = options_of(root);
  options.sshd_config = "/x/sshd_config";
  const PodView view = read_pod_view(options);
  REQUIRE(view.ssh_configs.size() == 3);
  CHECK(view.ssh_configs[0].path == "/x/sshd_config");
  CHECK(view.ssh_configs[1].path == "/home/mpiuser/.sshd_config");
  CHECK(decide_contract(view).ssh_port == 3);
}

TEST_CASE("an empty root is an empty view") {
  FakeRoot root;
  const PodView view = read_pod_view(options_of(root));
  CHECK(view.key_dirs.empty());
  CHECK(view.hostfiles.empty());
  CHECK(view.ssh_configs.empty());
}

TEST_CASE("this process has a name and an environment") {
  const PodViewOptions options = own_pod_options();
  CHECK_FALSE(options.hostname.empty());
  CHECK_FALSE(options.env.empty());
  CHECK(options.is_pid1 == (getpid() == 1));
}

}  // namespace
}  // namespace muster
