// SPDX-License-Identifier: Apache-2.0
#include "logs/value_scan.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <string>
#include <vector>

using namespace muster;

namespace {

bool one_by_one(const std::vector<std::string>& values,
                const std::string& text) {
  return std::any_of(values.begin(), values.end(), [&text](auto& value) {
    return text.find(value) != std::string::npos;
  });
}

}  // namespace

TEST_CASE("a value is found wherever it stands") {
  const std::vector<std::string> values{"correct horse battery", "s3cr3t-8"};
  const ValueScan scan(values);
  for (const std::string& value : values) {
    for (size_t before = 0; before < 70; ++before) {
      const std::string text = std::string(before, 's') + value;
      CHECK(scan.finds_in(text));
      CHECK(scan.finds_in(text + "tail"));
      CHECK_FALSE(scan.finds_in(text.substr(0, text.size() - 1)));
    }
  }
}

TEST_CASE("no value is found nowhere") {
  CHECK_FALSE(ValueScan().finds_in("anything"));
  CHECK_FALSE(ValueScan(std::vector<std::string>{"12345678"}).finds_in(""));
}

TEST_CASE("what is found is what a search for each value finds") {
  // Few letters and long texts: values that begin, end and overlap alike.
  std::mt19937 random(20261123);
  const auto word = [&random](size_t least, size_t most) {
    std::string out(least + random() % (most - least + 1), ' ');
    for (char& c : out) c = "ab"[random() % 2];
    return out;
  };
  size_t found = 0;
  for (int i = 0; i < 20000; ++i) {
    std::vector<std::string> values;
    const size_t shortest = 2 + random() % 8;
    for (size_t n = 1 + random() % 4; n > 0; --n) {
      values.push_back(word(shortest, shortest + 300 * (random() % 20 == 0)));
    }
    const std::string text = word(0, 120);
    const bool expected = one_by_one(values, text);
    found += expected;
    CAPTURE(values, text);
    REQUIRE(ValueScan(values).finds_in(text) == expected);
  }
  CHECK(found > 2000);
  CHECK(found < 18000);
}
