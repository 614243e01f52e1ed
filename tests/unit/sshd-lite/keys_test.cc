// SPDX-License-Identifier: Apache-2.0
#include "sshd-lite/keys.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/fd.h"
#include "catch.h"
#include "sshd-lite/private_key.h"
#include "test_server.h"

using namespace muster;
using muster::test::KeyDirectory;

namespace {

// As the kubelet mounts a Secret: files are links through ..data.
void swap_secret(const std::string& mount, const std::string& version,
                 const SshKey& key) {
  const std::string directory = mount + "/.." + version;
  std::filesystem::create_directories(directory);
  const KeyDirectory fresh(key);
  for (const char* name : {"id_rsa", "authorized_keys"}) {
    const auto text = read_file(fresh.path() + "/" + name);
    REQUIRE(write_file_atomically(directory + "/" + name, *text));
    const std::string link = mount + "/" + name;
    if (::access(link.c_str(), F_OK) != 0) {
      REQUIRE(::symlink((std::string("..data/") + name).c_str(),
                        link.c_str()) == 0);
    }
  }
  const std::string next = mount + "/..next";
  REQUIRE(::symlink((".." + version).c_str(), next.c_str()) == 0);
  REQUIRE(::rename(next.c_str(), (mount + "/..data").c_str()) == 0);
}

struct Mount {
  Mount() {
    char name[] = "/dev/shm/muster-test-mount-XXXXXX";
    path = ::mkdtemp(name);
  }
  ~Mount() { std::filesystem::remove_all(path); }
  std::string path;
};

SshKey make_key() { return std::move(*SshKey::generate(KeyType::kEcdsaP256)); }

}  // namespace

TEST_CASE("keys on a mount of their own are found whatever their modes") {
  const SshKey key = make_key();
  const KeyDirectory directory(key, "/dev/shm");
  ::chmod((directory.path() + "/id_rsa").c_str(), 0644);
  ::chmod(directory.path().c_str(), 0777);
  const auto keys = find_keys(directory.path());
  REQUIRE(keys);
  CHECK(keys->private_key.same_public(key));
  CHECK(keys->fingerprint == key.fingerprint());
  CHECK(keys->authorized.size() == 1);
  CHECK(keys->notes.empty());
}

TEST_CASE("a key in the image that everybody may read is refused") {
  const SshKey key = make_key();
  const KeyDirectory directory(key);
  const std::string file = directory.path() + "/id_rsa";
  REQUIRE(::chmod(file.c_str(), 0640) == 0);
  CHECK(find_keys(directory.path()));
  struct stat info {};
  struct stat root {};
  REQUIRE(::stat(file.c_str(), &info) == 0);
  REQUIRE(::stat("/", &root) == 0);
  if (info.st_dev != root.st_dev) return;  // /tmp is not the image's here
  REQUIRE(::chmod(file.c_str(), 0644) == 0);
  const auto keys = find_keys(directory.path());
  REQUIRE_FALSE(keys);
  CHECK(keys.error().code == "key_unusable");
  CHECK(keys.error().where == file);
  CHECK(keys.error().text().find("Secret") != std::string::npos);
}

TEST_CASE("without authorized_keys the job key itself is authorized") {
  const SshKey key = make_key();
  const KeyDirectory directory(key);
  ::unlink((directory.path() + "/authorized_keys").c_str());
  const auto keys = find_keys(directory.path());
  REQUIRE(keys);
  REQUIRE(keys->authorized.size() == 1);
  CHECK(keys->authorized[0].same_public(key));
}

TEST_CASE("who lets nobody in needs the private key alone") {
  const SshKey key = make_key();
  const KeyDirectory directory(key);
  REQUIRE(write_file_atomically(directory.path() + "/authorized_keys", "#\n"));
  const auto own = load_private_key(key_files_in(directory.path()).private_key);
  REQUIRE(own);
  CHECK(own->same_public(key));
  CHECK_FALSE(own->door_secret().empty());
  const auto none = load_private_key("");
  REQUIRE_FALSE(none);
  CHECK(none.error().code == "key_missing");
}

TEST_CASE("an empty authorized_keys lets nobody in") {
  const SshKey key = make_key();
  const KeyDirectory directory(key);
  REQUIRE(write_file_atomically(directory.path() + "/authorized_keys", "#\n"));
  const auto keys = find_keys(directory.path());
  REQUIRE(keys);
  CHECK(keys->authorized.empty());
  CHECK(keys->notes.size() == 1);
}

TEST_CASE("a missing key names the file and the remedy") {
  const Mount empty;
  const auto keys = find_keys(empty.path);
  REQUIRE_FALSE(keys);
  CHECK(keys.error().code == "key_missing");
  CHECK(keys.error().text().find(empty.path) != std::string::npos);
  CHECK(keys.error().text().find("keygen") != std::string::npos);
  CHECK_FALSE(KeyStore::open(key_files_in(empty.path)));
}

TEST_CASE("a worker without a private key makes one, if someone may log in") {
  const SshKey key = make_key();
  const KeyDirectory directory(key);
  ::unlink((directory.path() + "/id_rsa").c_str());
  auto store = KeyStore::open(key_files_in(directory.path()));
  REQUIRE(store);
  CHECK(store->current().source == "ephemeral");
  CHECK(store->current().private_key);
  CHECK(store->current().authorized[0].same_public(key));
  CHECK(store->current().notes.size() == 1);
}

TEST_CASE("who may log in to a key of the worker's own can change") {
  const SshKey first = make_key();
  const SshKey second = make_key();
  const KeyDirectory directory(first);
  const std::string authorized = directory.path() + "/authorized_keys";
  ::unlink((directory.path() + "/id_rsa").c_str());
  auto store = KeyStore::open(key_files_in(directory.path()));
  REQUIRE(store);
  const std::string host_key = store->current().fingerprint;
  const KeyDirectory next(second);
  REQUIRE(write_file_atomically(authorized,
                                *read_file(next.path() + "/authorized_keys")));
  REQUIRE(store->current().authorized.size() == 1);
  CHECK(store->current().authorized[0].same_public(second));
  CHECK(store->current().fingerprint == host_key);
  REQUIRE(write_file_atomically(authorized, "#\n"));
  CHECK(store->current().authorized.empty());
  ::unlink(authorized.c_str());
  CHECK(store->current().authorized.empty());
}

TEST_CASE("a broken key is no reason for an ephemeral one") {
  const SshKey key = make_key();
  const KeyDirectory directory(key);
  REQUIRE(write_file_atomically(directory.path() + "/id_rsa", "oops"));
  const auto store = KeyStore::open(key_files_in(directory.path()));
  REQUIRE_FALSE(store);
  CHECK(store.error().code == "key_unusable");
}

TEST_CASE("a swapped Secret is noticed; a broken one is not taken") {
  const Mount mount;
  const SshKey first = make_key();
  const SshKey second = make_key();
  swap_secret(mount.path, "1", first);
  auto store = KeyStore::open(key_files_in(mount.path));
  REQUIRE(store);
  CHECK(store->current().private_key.same_public(first));
  swap_secret(mount.path, "2", second);
  CHECK(store->current().private_key.same_public(second));
  ::unlink((mount.path + "/..data").c_str());
  CHECK(store->current().private_key.same_public(second));
}
