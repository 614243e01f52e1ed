// SPDX-License-Identifier: Apache-2.0
// `muster-agent post-status`: sends stdin, a JSON status of a TrainJob, to the
// server that Kubeflow Trainer names in KUBEFLOW_TRAINER_SERVER_URL, with the
// token and the authority whose files _TOKEN and _CA_CERT name, and ends. The
// launcher passes those of the API server for an Event (verdict_event.h). A
// process of its own, so that a slow server cannot hold up a launch; it ends
// within kPostDeadline in every case. Refuses: URLs without https, more than 64
// KiB. Never follows a redirect.
#pragma once

#include <chrono>
#include <string>

#include "base/result.h"

namespace muster {

constexpr std::chrono::seconds kPostDeadline{10};

struct HttpsUrl {
  std::string host;  // an IPv6 address without its brackets
  std::string port = "443";
  std::string path = "/";
};

// Error code "usage".
Result<HttpsUrl> parse_https_url(const std::string& url);
std::string post_request(const HttpsUrl& url, const std::string& token,
                         const std::string& body);

// 0: the server accepted it; 1: not, with a sentence on stderr.
int post_status_main();

}  // namespace muster
