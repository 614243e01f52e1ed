// SPDX-License-Identifier: Apache-2.0
#include "doctor/netpol.h"

#include "catch.h"

using namespace muster;

namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

NetpolRequest request(Posture posture) {
  NetpolRequest out;
  out.job = "pi";
  out.posture = posture;
  return out;
}

}  // namespace

TEST_CASE("the default posture names no port and no egress") {
  const auto text = write_netpol(request(Posture::kDefault));
  REQUIRE(text);
  CHECK(has(*text, "kind: NetworkPolicy"));
  CHECK(has(*text, "matchLabels: {training.kubeflow.org/job-name: \"pi\"}"));
  CHECK(has(*text, "policyTypes: [Ingress]\n"));
  CHECK_FALSE(has(*text, "ports:"));
  CHECK_FALSE(has(*text, "egress:"));
}

TEST_CASE("restricted with a range opens ssh and the range, and pins MPI") {
  NetpolRequest asked = request(Posture::kRestricted);
  asked.ports = {40000, 40999};
  const auto text = write_netpol(asked);
  REQUIRE(text);
  CHECK(has(*text, "port: 2222}"));
  CHECK(has(*text, "{protocol: TCP, port: 40000, endPort: 40999}"));
  CHECK(has(*text, "OMPI_MCA_btl_tcp_port_range_v4=1000"));
  CHECK(has(*text, "UCX_TCP_PORT_RANGE=40000-40999"));
}

TEST_CASE("isolated lets out names and what is asked for, no more") {
  NetpolRequest asked = request(Posture::kIsolated);
  asked.egress = {{"10.1.0.0/16", 443}};
  const auto text = write_netpol(asked);
  REQUIRE(text);
  CHECK(has(*text, "policyTypes: [Ingress, Egress]"));
  CHECK(has(*text, "port: 53}"));
  CHECK(has(*text, "ipBlock: {cidr: \"10.1.0.0/16\"}"));
}

TEST_CASE("names and ranges from outside are checked") {
  NetpolRequest asked = request(Posture::kDefault);
  for (const char* bad : {"", "Pi", "a b", "-x", "x}\nkind: Secret"}) {
    asked.job = bad;
    CHECK_FALSE(write_netpol(asked));
  }
  asked.job = "pi";
  for (const char* bad : {"", "a: b", "a}", "x/y/z", "/a", "a/", "_a", "a b"}) {
    INFO(bad);
    asked.label = bad;
    CHECK_FALSE(write_netpol(asked));
  }
  for (const char* good :
       {"app", "App_Name.x", "jobset.sigs.k8s.io/job-name"}) {
    INFO(good);
    asked.label = good;
    CHECK(write_netpol(asked));
  }
  CHECK_FALSE(parse_port_range("5"));
  CHECK_FALSE(parse_port_range("9-5"));
  CHECK_FALSE(parse_port_range("1-70000"));
  CHECK(parse_port_range("1-65535"));
  CHECK(parse_egress("10.0.0.0/8:443"));
  CHECK(parse_egress("fd00::/8:443"));
  CHECK_FALSE(parse_egress("minio:443"));
  CHECK_FALSE(parse_egress("10.0.0.0/8"));
  CHECK_FALSE(parse_egress("10.0.0.0/8:443\n"));
  CHECK_FALSE(parse_egress("10.0.0.0/33:443"));
  CHECK_FALSE(parse_egress("1/2:443"));
  CHECK_FALSE(parse_egress("fd00::/129:443"));
}

TEST_CASE("a value is text to YAML, whatever it looks like") {
  NetpolRequest asked = request(Posture::kDefault);
  asked.job = "on";
  asked.name_space = "123";
  const auto text = write_netpol(asked);
  REQUIRE(text);
  CHECK(has(*text, "namespace: \"123\"\n"));
  CHECK(has(*text, "job-name: \"on\"}"));
  CHECK_FALSE(has(*text, ": on}"));
}

TEST_CASE("no policy is wider than what was asked for") {
  CHECK_FALSE(write_netpol(request(Posture::kRestricted)));
  NetpolRequest asked = request(Posture::kDefault);
  asked.egress = {{"10.1.0.0/16", 443}};
  CHECK_FALSE(write_netpol(asked));
  asked.posture = Posture::kRestricted;
  asked.ports = {40000, 40999};
  CHECK_FALSE(write_netpol(asked));
}
