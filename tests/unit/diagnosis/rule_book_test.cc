// SPDX-License-Identifier: Apache-2.0
#include "diagnosis/book/rule_book.h"

#include <re2/re2.h>

#include <filesystem>
#include <fstream>

#include "../base/temporary_directory.h"
#include "base/fd.h"
#include "base/text.h"
#include "catch.h"
#include "diagnosis/book/builtin_rules.h"
#include "diagnosis/book/rule_parser.h"
#include "diagnosis/book/text_template.h"

using namespace muster;

TEST_CASE("the built-in rules are complete") {
  std::vector<RuleBook::Source> sources;
  for (const BuiltinRules& file : builtin_rules()) {
    sources.push_back({std::string(file.name), std::string(file.text)});
  }
  const auto book = RuleBook::parse(sources);
  INFO((book ? "" : book.error().text()));
  REQUIRE(book);
  CHECK(book->rules().size() >= 54);
  for (const Rule& rule : book->rules()) {
    INFO(rule.code);
    CHECK_FALSE(rule.title.empty());
    CHECK_FALSE(rule.phase.empty());
    CHECK_FALSE(rule.headline.empty());
    CHECK_FALSE(rule.meaning.empty());
    CHECK_FALSE(rule.confirm.empty());
    if (rule.code != "no_failure") CHECK_FALSE(rule.remedies.empty());
    for (const std::string& alias : rule.aliases) {
      CHECK(book->find(alias) == &rule);
    }
  }
}

TEST_CASE("mistakes in rules are told with their place") {
  struct Case {
    const char* text;
    const char* told;
  };
  for (const Case& one :
       {Case{"title: x\n", "F:1"}, Case{"[a]\n\ncolour: red\n", "F:3"},
        Case{"[a]\nrole: king\n", "role"},
        Case{"[a]\ntitle: x\nmatch: (\n", "F:3"}, Case{"[A b]\n", "class"},
        Case{"[a]\npriority: 1000\n", "1 to 99"},
        Case{"[a]\nexit: sideways\n", "exit class"},
        Case{"[a]\nmatch:\n", "no value"}, Case{"[a]\nignore: x\n", "[*]"},
        Case{"[*]\nmatch: x\n", "class"}, Case{"  x\n", "continue"},
        Case{"[a]\nhello\n", "key: value"},
        Case{"[a]\nwords: x 1\n", "words"}}) {
    const auto book = RuleBook::parse({{"F", one.text}});
    INFO(one.text);
    REQUIRE_FALSE(book);
    CHECK(book.error().code == "rules");
    CHECK(book.error().text().find(one.told) != std::string::npos);
  }
}

TEST_CASE("a site adds patterns and classes") {
  const auto book = RuleBook::parse(
      {{"one", "[a]\ntitle: first\nmatch: alpha (?P<what>\\w+)\n"},
       {"two",
        "[a]\nmatch: beta\n[b]\ntitle: of two\n  lines\nmatch: alpha\n"
        "[*]\nignore: quoted\n"}});
  REQUIRE(book);
  CHECK(book->rules().size() == 2);
  CHECK(book->find("b")->title == "of two lines");
  const LineMeaning meaning = book->read("alpha centauri");
  REQUIRE(meaning.matches.size() == 2);
  CHECK(meaning.matches[0].captures.at("what") == "centauri");
  CHECK(book->read("beta").matches.size() == 1);
  CHECK(book->read("quoted alpha x").matches.empty());
  CHECK(book->read(std::string(1 << 20, 'x')).matches.empty());
}

TEST_CASE("RE2 takes each built-in pattern, and few have no words") {
  RuleSet set;
  size_t rows = 0;
  for (const BuiltinRules& file : builtin_rules()) {
    REQUIRE(parse_rules(set, file.text, std::string(file.name)));
    for (const char c : file.words) rows += c == '\n' ? 1 : 0;
  }
  for (const PatternText& pattern : set.patterns) {
    INFO(pattern.where << ": " << pattern.expression);
    CHECK(RE2(pattern.expression, RE2::Latin1).ok());
  }
  CHECK(set.patterns.size() - rows < 20);
}

// The same patterns, each tried at each line.
TEST_CASE("the words of the patterns hide no match") {
  std::vector<RuleBook::Source> sources;
  for (const BuiltinRules& file : builtin_rules()) {
    sources.push_back({std::string(file.name), std::string(file.text), true});
  }
  const auto book = RuleBook::parse(sources);
  REQUIRE(book);
  const auto codes = [](const LineMeaning& meaning) {
    std::string text;
    for (const bool flag : {meaning.ignored, meaning.progress, meaning.success,
                            meaning.well, meaning.fact}) {
      text += flag ? '1' : '0';
    }
    for (const LineMatch& match : meaning.matches) {
      text += ' ' + match.rule->code;
    }
    return text;
  };
  size_t lines = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(MUSTER_CORPUS)) {
    const auto text = entry.is_regular_file()
                          ? read_file(entry.path().string(), 1 << 24)
                          : Result<std::string>("");
    REQUIRE(text);
    for (const std::string_view line : split(*text, '\n')) {
      // A sample: all of them take minutes.
      if (line.empty() || lines++ % 23 != 0) continue;
      INFO(line);
      REQUIRE(codes(RuleBook::built_in().look(line)) ==
              codes(book->look(line)));
      const LineGuess guess = RuleBook::built_in().guess(line);
      const LineGuess slow = book->guess(line);
      REQUIRE(guess.error_shape == slow.error_shape);
      REQUIRE(guess.calm == slow.calm);
      REQUIRE((guess.rule == nullptr ? "" : guess.rule->code) ==
              (slow.rule == nullptr ? "" : slow.rule->code));
    }
  }
  CHECK(lines > 10'000);
}

TEST_CASE("templates take the first alternative that is known") {
  const Captures values = {{"who", "Rank 1"}, {"limit", "32 GiB"}, {"no", ""}};
  CHECK(fill_template("{who} has {limit}", values) == "Rank 1 has 32 GiB");
  CHECK(fill_template("{who} {peak} || {who}", values) == "Rank 1");
  CHECK(fill_template("{?limit}yes || no", values) == "yes");
  CHECK(fill_template("{?no}yes || no", values) == "no");
  CHECK_FALSE(fill_template("{peak}", values));
  CHECK(fill_template("a {Not a name} b", values) == "a {Not a name} b");
  CHECK(fill_template("open { brace", values) == "open { brace");
}

TEST_CASE("what a site writes is used or refused, never dropped") {
  const auto with = [](const std::string& text) {
    std::vector<RuleBook::Source> sources;
    for (const BuiltinRules& file : builtin_rules()) {
      sources.push_back(
          {std::string(file.name), std::string(file.text), true, file.words});
    }
    sources.push_back({"site.rules", text, false});
    return RuleBook::parse(sources);
  };
  // Only the first three remedies are shown.
  const auto book =
      with("[gpu_oom]\nremedy: ask the platform team\nremedy: read our wiki\n");
  REQUIRE(book);
  CHECK(book->find("gpu_oom")->remedies[0] == "ask the platform team");
  CHECK(book->find("gpu_oom")->remedies[1] == "read our wiki");
  struct Wrong {
    const char* text;
    const char* said;
  };
  for (const Wrong& one :
       {Wrong{"\n[gpu_oon]\nmatch: our words\n", "did you mean gpu_oom?"},
        Wrong{"\n[our_own_thing]\nmatch: our words\n",
              "a new one needs a title"},
        Wrong{"\n[gpu_oom]\nremedies: x\n", "unknown key 'remedies'"},
        Wrong{"\n[gpu_oom]\nmatch: (\n", "missing )"},
        Wrong{"\n[ours]\ntitle: a\npriority: 5\n[ours]\npriority: 6\n",
              "'priority' of [ours] was set before, at site.rules:4"},
        Wrong{"\n[gpu_oom]\ntitle: a\ntitle: b\n", "keep one of them"},
        Wrong{"\n[gpu_oom]\nmatch:\n", "has no value"}}) {
    const auto wrong = with(one.text);
    INFO(one.text);
    REQUIRE_FALSE(wrong);
    CHECK(wrong.error().text().find(one.said) != std::string::npos);
    CHECK(wrong.error().text().find("site.rules:") != std::string::npos);
  }
  // A built-in class may get other texts.
  const auto other = with("[gpu_oom]\ntitle: ours\n");
  REQUIRE(other);
  CHECK(other->find("gpu_oom")->title == "ours");
  const TemporaryDirectory empty;
  CHECK_FALSE(RuleBook::with_directory(empty.path()));
}

TEST_CASE("the files of a site are read, or refused in a sentence") {
  const TemporaryDirectory site;
  const auto write = [&site](const std::string& name, const std::string& text) {
    std::ofstream(site.path() + "/" + name) << text;
  };
  const std::string ours = "[ours]\ntitle: a\nmatch: our words\n";
  write("a.rules", ours);
  CHECK(RuleBook::with_directory(site.path()));
  write("b.rules", "[ours]\ntitle: b\n");
  const auto twice = RuleBook::with_directory(site.path());
  REQUIRE_FALSE(twice);
  CHECK(twice.error().text().find("a.rules:2") != std::string::npos);
  CHECK(twice.error().text().find("b.rules:2") != std::string::npos);
  write("b.rules", "[ours]\nmatch: more words\n");
  CHECK(RuleBook::with_directory(site.path()));
  write(".rules", ours);
  const auto nameless = RuleBook::with_directory(site.path());
  REQUIRE_FALSE(nameless);
  CHECK(nameless.error().text().find("no name but .rules") !=
        std::string::npos);
}
