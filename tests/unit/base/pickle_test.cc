// SPDX-License-Identifier: Apache-2.0
// Bytes as Python's pickle.dumps() writes them, and what must not be read.
#include "base/pickle.h"

#include <string>

#include "catch.h"

namespace muster {
namespace {

using namespace std::string_literals;

std::string refused(const std::string& bytes) {
  const auto read = Pickle::read(bytes);
  return read ? "" : read.error().text();
}

TEST_CASE("numbers, texts and what holds them") {
  // {'a': [1, -2, 70000, 2**40, True, None, (3, 'x')], 'b': 0.5}, protocol 2
  const std::string bytes =
      "\x80\x02}q\0(X\1\0\0\0aq\1]q\2(K\1J\xfe\xff\xff\xffJp\x11\1\0"
      "\x8a\6\0\0\0\0\0\1\x88NK\3X\1\0\0\0xq\3\x86q\4eX\1\0\0\0bq\5G?\xe0"
      "\0\0\0\0\0\0u."s;
  const auto read = Pickle::read(bytes);
  REQUIRE(read);
  const auto list = read->find(read->root(), "a");
  REQUIRE(list);
  const auto items = read->items(*list);
  REQUIRE(items.size() == 7);
  CHECK(read->integer(items[0]) == 1);
  CHECK(read->integer(items[1]) == -2);
  CHECK(read->integer(items[2]) == 70000);
  CHECK(read->integer(items[3]) == int64_t{1} << 40);
  CHECK(read->integer(items[4]) == 1);
  CHECK(read->kind(items[5]) == Pickle::Kind::kNone);
  REQUIRE(read->items(items[6]).size() == 2);
  CHECK(read->text(read->items(items[6])[1]) == "x");
  CHECK_FALSE(read->integer(items[5]));
  CHECK_FALSE(read->text(items[0]));
  CHECK(read->kind(*read->find(read->root(), "b")) == Pickle::Kind::kFloat);
  CHECK_FALSE(read->find(read->root(), "c"));
  CHECK_FALSE(read->find(*list, "a"));
}

TEST_CASE("what is shared, and what holds itself, is there once") {
  // a = []; a.append(a); [a, a]
  const auto read = Pickle::read("\x80\x02]q\0(]q\1h\1ah\1e."s);
  REQUIRE(read);
  const auto items = read->items(read->root());
  REQUIRE(items.size() == 2);
  CHECK(items[0] == items[1]);
  CHECK(read->items(items[0])[0] == items[0]);
}

TEST_CASE("protocol 4, as Python writes by default") {
  // {'k': 'v'}
  const std::string bytes =
      "\x80\x04\x95\x0b\0\0\0\0\0\0\0}\x94\x8c\1k\x94\x8c\1v\x94s."s;
  const auto read = Pickle::read(bytes);
  REQUIRE(read);
  const auto value = read->find(read->root(), "k");
  REQUIRE(value);
  CHECK(read->text(*value) == "v");
}

TEST_CASE("nothing that asks to run code is read") {
  for (const std::string& bytes :
       {"\x80\x02"s + "cos\nsystem\n.", "\x80\x02"s + "ios\nsystem\n.",
        "\x80\x02(o."s, "\x80\x02]]R."s, "\x80\x02]}b."s, "\x80\x02]]\x81."s,
        "\x80\x02\x82\1."s, "\x80\x04]]\x93."s, "\x80\x04]]]\x92."s,
        "\x80\x02P1\n."s, "\x80\x02NQ."s}) {
    CHECK(refused(bytes).find("run code") != std::string::npos);
  }
}

TEST_CASE("what makes no sense is refused with its place") {
  for (const std::string& bytes : {""s,
                                   "\x80"s,
                                   "\x80\x02"s,
                                   "\x80\x02."s,
                                   "\x80\x02NN."s,
                                   "\x80\x02(N."s,
                                   "\x80\x02X\xff\xff\xff\xffx."s,
                                   "\x80\x02]N)a."s,
                                   "\x80\x02K\1N a."s,
                                   "\x80\x02}(Nu."s,
                                   "\x80\x02h\0."s,
                                   "\x80\x02q\0."s,
                                   "\x80\x02Nr\0\0\0\x10."s,
                                   "\x80\x02\x85."s,
                                   "\x80\x02]((a."s,
                                   "\x80\x02"
                                   "e."s,
                                   "\x80\x02\x8a\x09"
                                   "123456789."s,
                                   "\x80\x01N."s,
                                   "\x80\x09N."s,
                                   "I1\n."s,
                                   "\x80\x04\x8f."s,
                                   "\x80\x02Ns."s,
                                   "\x80\x02(Ne."s}) {
    CAPTURE(bytes);
    CHECK(refused(bytes).find("at byte") != std::string::npos);
  }
}

TEST_CASE("memory is bounded, whatever the bytes") {
  const std::string many(Pickle::kLongest - 16, ']');
  CHECK(refused("\x80\x02"s + many + ".").find("too many") !=
        std::string::npos);
  const std::string marks(Pickle::kLongest - 16, '(');
  CHECK(refused("\x80\x02"s + marks + ".").find("too many") !=
        std::string::npos);
  CHECK(refused(std::string(Pickle::kLongest + 1, 'N')).find("32 MiB") !=
        std::string::npos);
}

}  // namespace
}  // namespace muster
