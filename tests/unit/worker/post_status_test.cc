// SPDX-License-Identifier: Apache-2.0
// The way to a real server is tests/cluster/test_trainer_progress.py.
#include "worker/post/post_status.h"

#include "catch.h"

namespace muster {
namespace {

TEST_CASE("URLs of the status server") {
  const auto url = parse_https_url(
      "https://kubeflow-trainer.kubeflow:8082/apis/x/status?a=b");
  REQUIRE(url);
  CHECK(url->host == "kubeflow-trainer.kubeflow");
  CHECK(url->port == "8082");
  CHECK(url->path == "/apis/x/status?a=b");
  CHECK(parse_https_url("https://a")->port == "443");
  CHECK(parse_https_url("https://a")->path == "/");
  CHECK(parse_https_url("https://[fd00::1]:9/p")->host == "fd00::1");
  CHECK(parse_https_url("https://[fd00::1]:9/p")->port == "9");
  CHECK(parse_https_url("https://[fd00::1]")->port == "443");
  for (const char* bad :
       {"", "http://a/b", "https://", "https:///x", "https://a:0/",
        "https://a:99999/", "https://a:x/", "https://[fd00::1/", "https://u@a/",
        "https://[::1]x/", "https://a/b\r\nX: y", "https://a b/"}) {
    INFO(bad);
    CHECK_FALSE(parse_https_url(bad));
  }
}

TEST_CASE("the request") {
  const std::string text =
      post_request({"fd00::1", "8082", "/p"}, "TOKEN", "{}");
  CHECK(text ==
        "POST /p HTTP/1.1\r\nHost: [fd00::1]:8082\r\n"
        "Authorization: Bearer TOKEN\r\nContent-Type: application/json\r\n"
        "Content-Length: 2\r\nConnection: close\r\n\r\n{}");
}

}  // namespace
}  // namespace muster
