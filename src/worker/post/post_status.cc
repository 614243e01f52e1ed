// SPDX-License-Identifier: Apache-2.0
#include "worker/post/post_status.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/fd.h"
#include "base/read_to_end.h"
#include "base/text.h"
#include "worker/post/tls_socket.h"

namespace muster {

namespace {

constexpr size_t kMaxBody = 64 << 10;
constexpr size_t kMaxToken = 64 << 10;

std::string variable(const char* name) {
  const char* value = ::getenv(name);
  return value != nullptr ? value : "";
}

tl::unexpected<Error> refuse(const std::string& why, const std::string& where) {
  return fail(Error{"post", "it was not posted", why, where, ""});
}

Result<UniqueFd> connect_to(const HttpsUrl& url) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error =
      ::getaddrinfo(url.host.c_str(), url.port.c_str(), &hints, &found);
  if (error != 0) return refuse(::gai_strerror(error), url.host);
  int saved = ECONNREFUSED;
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    UniqueFd fd(::socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (fd && ::connect(fd.get(), at->ai_addr, at->ai_addrlen) == 0) {
      ::freeaddrinfo(found);
      return fd;
    }
    saved = errno;
  }
  ::freeaddrinfo(found);
  return refuse(::strerror(saved), url.host + ":" + url.port);
}

Status post(const std::string& body) {
  if (body.size() > kMaxBody) return refuse("it is above 64 KiB", "");
  const auto url = parse_https_url(variable("KUBEFLOW_TRAINER_SERVER_URL"));
  if (!url) return fail(url.error());
  // Read each time: the kubelet renews it.
  const std::string token_file = variable("KUBEFLOW_TRAINER_SERVER_TOKEN");
  const auto token = read_file(token_file, kMaxToken);
  if (!token) return refuse("its token cannot be read", token_file);
  const std::string word(trim(*token));
  // A character of a header's own syntax would make another header.
  if (word.find_first_of("\r\n ") != word.npos) {
    return refuse("its token is none", token_file);
  }
  const auto fd = connect_to(*url);
  if (!fd) return fail(fd.error());
  auto tls = TlsSocket::connect(fd->get(), url->host,
                                variable("KUBEFLOW_TRAINER_SERVER_CA_CERT"));
  if (!tls) return fail(tls.error());
  if (auto sent = tls->write(post_request(*url, word, body)); !sent) {
    return sent;
  }
  const std::string answer = tls->read_line();  // "HTTP/1.1 200 OK"
  const auto words = split_words(answer);
  if (words.size() >= 2 && words[1].starts_with('2')) return {};
  return refuse("the server answered '" + answer + "'", url->host);
}

}  // namespace

Result<HttpsUrl> parse_https_url(const std::string& text) {
  constexpr std::string_view kScheme = "https://";
  const auto wrong = [&text] {
    return fail(Error{"usage", "not an https URL", "'" + text + "'",
                      "KUBEFLOW_TRAINER_SERVER_URL", ""});
  };
  std::string_view rest = text;
  const auto unprintable = [](unsigned char c) { return c <= ' ' || c > '~'; };
  if (!rest.starts_with(kScheme) ||
      std::any_of(rest.begin(), rest.end(), unprintable)) {
    return wrong();
  }
  rest.remove_prefix(kScheme.size());
  HttpsUrl url;
  const size_t slash = std::min(rest.find('/'), rest.size());
  if (slash < rest.size()) url.path = std::string(rest.substr(slash));
  std::string_view host = rest.substr(0, slash);
  const bool bracket = host.starts_with('[');
  const size_t end = bracket ? host.find(']') : host.find(':');
  if (bracket && end == host.npos) return wrong();
  const size_t colon = bracket ? end + 1 : std::min(end, host.size());
  url.host = std::string(host.substr(bracket, bracket ? end - 1 : colon));
  if (colon < host.size()) {
    const auto port = parse_integer(host.substr(colon + 1));
    if (host[colon] != ':' || !port || *port < 1 || *port > 65535) {
      return wrong();
    }
    url.port = std::to_string(*port);
  }
  if (url.host.empty() || url.host.find('@') != url.host.npos) return wrong();
  return url;
}

std::string post_request(const HttpsUrl& url, const std::string& token,
                         const std::string& body) {
  const bool ipv6 = url.host.find(':') != std::string::npos;
  return "POST " + url.path +
         " HTTP/1.1\r\nHost: " + (ipv6 ? "[" + url.host + "]" : url.host) +
         ":" + url.port + "\r\nAuthorization: Bearer " + token +
         "\r\nContent-Type: application/json\r\nContent-Length: " +
         std::to_string(body.size()) + "\r\nConnection: close\r\n\r\n" + body;
}

int post_status_main() {
  ::signal(SIGALRM, SIG_DFL);
  ::signal(SIGPIPE, SIG_IGN);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::alarm(static_cast<unsigned>(kPostDeadline.count()));
  const auto posted = post(read_to_end(STDIN_FILENO, kMaxBody));
  if (posted) return 0;
  std::fprintf(stderr, "%s\n", posted.error().text().c_str());
  return 1;
}

}  // namespace muster
