// SPDX-License-Identifier: Apache-2.0
#include "sshd-lite/sshd_access.h"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "base/printable.h"
#include "base/text.h"

namespace muster {

namespace {

constexpr std::array<std::string_view, 8> kHonouredWords = {
    "port",    "listenaddress",      "addressfamily", "hostkey",
    "include", "authorizedkeysfile", "match",         "strictmodes"};

constexpr std::array<std::string_view, 15> kRestrictingWords = {
    "allowgroups",
    "allowusers",
    "authenticationmethods",
    "authorizedkeyscommand",
    "chrootdirectory",
    "denygroups",
    "denyusers",
    "forcecommand",
    "maxsessions",
    "permitrootlogin",
    "pubkeyauthentication",
    "pubkeyauthoptions",
    "refuseconnection",
    "revokedkeys",
    "rsaauthentication",
};

// This server does not have logins other than by key, forwarding, terminals,
// PAM or files of the session; bounds on connections and the choice of ciphers
// are its own.
constexpr std::array<std::string_view, 106> kHarmlessWords = {
    "acceptenv",
    "allowagentforwarding",
    "allowstreamlocalforwarding",
    "allowtcpforwarding",
    "authorizedkeyscommanduser",
    "authorizedprincipalscommand",
    "authorizedprincipalscommanduser",
    "authorizedprincipalsfile",
    "banner",
    "casignaturealgorithms",
    "challengeresponseauthentication",
    "channeltimeout",
    "ciphers",
    "clientalivecountmax",
    "clientaliveinterval",
    "compression",
    "debianbanner",
    "disableforwarding",
    "dsaauthentication",
    "exposeauthinfo",
    "fingerprinthash",
    "gatewayports",
    "gssapiauthentication",
    "gssapicleanupcredentials",
    "gssapidelegatecredentials",
    "gssapienablek5users",
    "gssapiindicators",
    "gssapikexalgorithms",
    "gssapikeyexchange",
    "gssapistorecredentialsonrekey",
    "gssapistrictacceptorcheck",
    "hostbasedacceptedalgorithms",
    "hostbasedacceptedkeytypes",
    "hostbasedauthentication",
    "hostbasedusesnamefrompacketonly",
    "hostcertificate",
    "hostdsakey",
    "hostkeyagent",
    "hostkeyalgorithms",
    "ignorerhosts",
    "ignoreuserknownhosts",
    "ipqos",
    "kbdinteractiveauthentication",
    "keepalive",
    "kerberosauthentication",
    "kerberosgetafstoken",
    "kerberosorlocalpasswd",
    "kerberosticketcleanup",
    "kerberosuniqueccache",
    "kerberosusekuserok",
    "kexalgorithms",
    "keyregenerationinterval",
    "logingracetime",
    "loglevel",
    "logverbose",
    "macs",
    "maxauthtries",
    "maxstartups",
    "modulifile",
    "pamauthenticationviakbdint",
    "pamservicename",
    "passwordauthentication",
    "permitemptypasswords",
    "permitlisten",
    "permitopen",
    "permittty",
    "permittunnel",
    "permituserenvironment",
    "permituserrc",
    "persourcemaxstartups",
    "persourcenetblocksize",
    "persourcepenalties",
    "persourcepenaltyexemptlist",
    "pidfile",
    "printlastlog",
    "printmotd",
    "protocol",
    "pubkeyacceptedalgorithms",
    "pubkeyacceptedkeytypes",
    "rdomain",
    "rekeylimit",
    "requiredrsasize",
    "rhostsauthentication",
    "rhostsrsaauthentication",
    "securitykeyprovider",
    "serverkeybits",
    "setenv",
    "skeyauthentication",
    "sshdauthpath",
    "sshdsessionpath",
    "streamlocalbindmask",
    "streamlocalbindunlink",
    "subsystem",
    "syslogfacility",
    "tcpkeepalive",
    "trustedusercakeys",
    "unusedconnectiontimeout",
    "usedns",
    "uselogin",
    "usepam",
    "useprivilegeseparation",
    "versionaddendum",
    "x11displayoffset",
    "x11forwarding",
    "x11uselocalhost",
    "xauthlocation",
};

template <size_t N>
bool holds(const std::array<std::string_view, N>& words,
           std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool matches(const std::string& pattern, const std::string& name) {
  return !name.empty() && ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

// Whether a pattern of the list names one of `names`. A pattern with a host
// (USER@HOST) or a negation counts as `doubtful`: no host is looked at.
bool names_one(const std::vector<std::string>& patterns,
               const std::vector<std::string>& names, bool doubtful) {
  bool found = false;
  for (const std::string& pattern : patterns) {
    if (pattern.starts_with('!') || pattern.find('@') != pattern.npos) {
      if (doubtful) return true;
      continue;
    }
    found = found || std::any_of(names.begin(), names.end(),
                                 [&pattern](const std::string& name) {
                                   return matches(pattern, name);
                                 });
  }
  return found;
}

// Whether a list of AuthenticationMethods is content with a key alone.
bool key_is_enough(const std::vector<std::string>& lists) {
  return std::any_of(lists.begin(), lists.end(), [](const auto& list) {
    const std::string name = to_lower(list);
    return name == "any" || name == "publickey";
  });
}

std::string account_words(const SshdAccount& account) {
  return account.user.empty() ? std::string("a user without a name")
                              : account.user;
}

// Why `limit` denies access to a user whom this server would let in.
std::optional<std::string> why_unmet(const std::string& name,
                                     const AccessLimit& limit,
                                     const SshdAccount& account) {
  const std::string value =
      limit.values.empty() ? std::string() : to_lower(limit.values[0]);
  const std::vector<std::string> self{account.user};
  if (name == "allowusers" || name == "allowgroups") {
    const auto& names = name == "allowusers" ? self : account.groups;
    if (names_one(limit.values, names, false)) return std::nullopt;
    return "it does not let in " + account_words(account) +
           ", the account of this worker";
  }
  if (name == "denyusers" || name == "denygroups") {
    const auto& names = name == "denyusers" ? self : account.groups;
    if (!names_one(limit.values, names, true)) return std::nullopt;
    return "it may shut out " + account_words(account) +
           ", the account of this worker";
  }
  if (name == "permitrootlogin") {
    const bool lets_in = value == "yes" || value == "prohibit-password" ||
                         value == "without-password";
    if (lets_in || !account.is_root) return std::nullopt;
    return std::string("this worker runs as root");
  }
  if (name == "authenticationmethods") {
    if (key_is_enough(limit.values)) return std::nullopt;
    return std::string("this server knows only logins by key");
  }
  if (name == "pubkeyauthentication" || name == "rsaauthentication") {
    if (value != "no") return std::nullopt;
    return std::string("this server knows only logins by key");
  }
  if (name == "maxsessions") {
    if (parse_integer(value).value_or(0) > 0) return std::nullopt;
    return std::string("it allows no command");
  }
  if (name == "pubkeyauthoptions") {
    if (value == "none" || value == "touch-required") return std::nullopt;
    return std::string("this server does not ask for it");
  }
  if (name == "refuseconnection" || name == "strictmodes") {
    if (value == "no") return std::nullopt;
    return std::string("this server does not obey it");
  }
  if (value == "none") {
    if (name != "authorizedkeysfile") return std::nullopt;
    return std::string("every login fails then");
  }
  return std::string("this server does not obey it");
}

bool is_list(const std::string& name) {
  return name == "allowusers" || name == "denyusers" || name == "allowgroups" ||
         name == "denygroups";
}

// Lines of one list are one list.
std::vector<AccessLimit> that_count(const std::vector<AccessLimit>& limits) {
  std::vector<AccessLimit> out;
  for (const AccessLimit& limit : limits) {
    const std::string name = to_lower(limit.keyword);
    const auto same =
        std::find_if(out.begin(), out.end(), [&](const AccessLimit& known) {
          return !known.in_match && to_lower(known.keyword) == name;
        });
    if (limit.in_match || same == out.end()) {
      out.push_back(limit);
    } else if (is_list(name)) {
      same->values.insert(same->values.end(), limit.values.begin(),
                          limit.values.end());
    }
  }
  return out;
}

}  // namespace

KeywordKind keyword_kind(std::string_view keyword) {
  if (holds(kHonouredWords, keyword)) return KeywordKind::kHonoured;
  if (holds(kRestrictingWords, keyword)) return KeywordKind::kRestricts;
  if (holds(kHarmlessWords, keyword)) return KeywordKind::kHarmless;
  return KeywordKind::kUnknown;
}

std::vector<std::string> unmet_limits(const std::vector<AccessLimit>& limits,
                                      const SshdAccount& account) {
  std::vector<std::string> out;
  for (const AccessLimit& limit : that_count(limits)) {
    const std::string name = to_lower(limit.keyword);
    const std::string shown =
        limit.where + ": " + limit.keyword +
        (limit.values.empty() ? ""
                              : " " + printable(join(limit.values, " "), 100));
    if (keyword_kind(name) == KeywordKind::kUnknown) {
      out.push_back(shown + ": this keyword is unknown here");
    } else if (const auto why = why_unmet(name, limit, account)) {
      out.push_back(shown + ": " + *why +
                    (limit.in_match ? " (in a Match block)" : ""));
    }
  }
  return out;
}

}  // namespace muster
