// SPDX-License-Identifier: Apache-2.0
#include "worker/post/tls_socket.h"

#include <arpa/inet.h>
#include <dlfcn.h>

#include <algorithm>
#include <optional>

namespace muster {

namespace {

// OpenSSL 3's ABI, as ssl(7) documents it; all its objects are opaque here.
struct OpenSsl {
  const void* (*tls_client_method)() = nullptr;
  void* (*ctx_new)(const void* method) = nullptr;
  int (*ctx_load_verify_file)(void* context, const char* file) = nullptr;
  int (*ctx_set_default_verify_paths)(void* context) = nullptr;
  void (*ctx_set_verify)(void* context, int mode, void* callback) = nullptr;
  void* (*ssl_new)(void* context) = nullptr;
  int (*set_fd)(void* ssl, int fd) = nullptr;
  long (*ctrl)(void* ssl, int command, long larg, void* parg) = nullptr;
  int (*set1_host)(void* ssl, const char* name) = nullptr;
  void* (*get0_param)(void* ssl) = nullptr;
  int (*set1_ip)(void* param, const char* address) = nullptr;
  int (*connect)(void* ssl) = nullptr;
  int (*write)(void* ssl, const void* bytes, int size) = nullptr;
  int (*read)(void* ssl, void* bytes, int size) = nullptr;
  long (*verify_result)(const void* ssl) = nullptr;
  const char* (*verify_text)(long code) = nullptr;
};

constexpr int kVerifyPeer = 1;      // SSL_VERIFY_PEER
constexpr int kSetServerName = 55;  // SSL_CTRL_SET_TLSEXT_HOSTNAME
constexpr long kNameTypeHost = 0;   // TLSEXT_NAMETYPE_host_name

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

std::optional<OpenSsl> load_openssl() {
  void* library = ::dlopen("libssl.so.3", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return std::nullopt;
  OpenSsl out;
  const bool all =
      find(library, "TLS_client_method", out.tls_client_method) &&
      find(library, "SSL_CTX_new", out.ctx_new) &&
      find(library, "SSL_CTX_load_verify_file", out.ctx_load_verify_file) &&
      find(library, "SSL_CTX_set_default_verify_paths",
           out.ctx_set_default_verify_paths) &&
      find(library, "SSL_CTX_set_verify", out.ctx_set_verify) &&
      find(library, "SSL_new", out.ssl_new) &&
      find(library, "SSL_set_fd", out.set_fd) &&
      find(library, "SSL_ctrl", out.ctrl) &&
      find(library, "SSL_set1_host", out.set1_host) &&
      find(library, "SSL_get0_param", out.get0_param) &&
      find(library, "X509_VERIFY_PARAM_set1_ip_asc", out.set1_ip) &&
      find(library, "SSL_connect", out.connect) &&
      find(library, "SSL_write", out.write) &&
      find(library, "SSL_read", out.read) &&
      find(library, "SSL_get_verify_result", out.verify_result) &&
      find(library, "X509_verify_cert_error_string", out.verify_text);
  return all ? std::optional(out) : std::nullopt;
}

const std::optional<OpenSsl>& openssl() {
  static const std::optional<OpenSsl> kLoaded = load_openssl();
  return kLoaded;
}

tl::unexpected<Error> refuse(const std::string& why, const std::string& hint) {
  return fail(Error{"tls", "no TLS connection", why, "", hint});
}

bool is_address(const std::string& host) {
  unsigned char bytes[16];
  return ::inet_pton(AF_INET, host.c_str(), bytes) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), bytes) == 1;
}

// The certificate must be for this name, or this address.
bool expect_name(const OpenSsl& api, void* ssl, const std::string& host) {
  if (is_address(host)) {
    return api.set1_ip(api.get0_param(ssl), host.c_str()) == 1;
  }
  api.ctrl(ssl, kSetServerName, kNameTypeHost, const_cast<char*>(host.c_str()));
  return api.set1_host(ssl, host.c_str()) == 1;
}

}  // namespace

Result<TlsSocket> TlsSocket::connect(int fd, const std::string& host,
                                     const std::string& authority) {
  if (!openssl()) {
    return refuse("libssl.so.3 is not in this image",
                  "Install OpenSSL 3 in the launcher's image.");
  }
  const OpenSsl& api = *openssl();
  void* context = api.ctx_new(api.tls_client_method());
  if (context == nullptr) return refuse("OpenSSL gives no context", "");
  const int trusted =
      authority.empty() ? api.ctx_set_default_verify_paths(context)
                        : api.ctx_load_verify_file(context, authority.c_str());
  if (trusted != 1) {
    return refuse("no certificate authority can be read from " + authority, "");
  }
  api.ctx_set_verify(context, kVerifyPeer, nullptr);
  void* ssl = api.ssl_new(context);
  if (ssl == nullptr || api.set_fd(ssl, fd) != 1 ||
      !expect_name(api, ssl, host)) {
    return refuse("OpenSSL takes no connection to " + host, "");
  }
  if (api.connect(ssl) != 1) {
    const long verified = api.verify_result(ssl);
    return refuse(verified != 0
                      ? "the certificate of " + host +
                            " is refused: " + api.verify_text(verified)
                      : host + " does not complete the handshake",
                  "");
  }
  return TlsSocket(ssl);
}

Status TlsSocket::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const int n =
        openssl()->write(ssl_, bytes.data(), static_cast<int>(bytes.size()));
    if (n <= 0) return refuse("the connection broke while sending", "");
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return {};
}

std::string TlsSocket::read_line() {
  std::string out;
  char buffer[4096];
  while (out.find('\n') == std::string::npos && out.size() < sizeof buffer) {
    const int n = openssl()->read(ssl_, buffer, sizeof buffer);
    if (n <= 0) break;
    out.append(buffer, static_cast<size_t>(n));
  }
  out.resize(std::min(out.size(), out.find_first_of("\r\n")));
  return out;
}

}  // namespace muster
