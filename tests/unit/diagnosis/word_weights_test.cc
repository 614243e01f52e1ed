// SPDX-License-Identifier: Apache-2.0
#include "diagnosis/book/word_weights.h"

#include "catch.h"
#include "diagnosis/book/rule_book.h"

using namespace muster;

namespace {

using Words = std::vector<std::string>;

}  // namespace

TEST_CASE("a line is taken apart into words, their stems and small numbers") {
  CHECK(WordWeights::words_of("").empty());
  CHECK(WordWeights::words_of("ncclCommInitRank: failed, FAILED!") ==
        Words{"^faile", "comm", "failed", "init", "nccl", "rank"});
  CHECK(WordWeights::words_of("errno 12 at 0x7f2b3d of 131072 bytes a") ==
        Words{"#12", "at", "bytes", "errno", "of"});
  CHECK(WordWeights::words_of("CUDAError x9 0xyz") ==
        Words{"#0", "#9", "^cudae", "cudaerror", "xyz"});
}

TEST_CASE("the class that most words speak for wins, and says how clearly") {
  WordWeights words;
  words.add(0, "*", -10);
  words.add(0, "memory", 30);
  words.add(2, "*", -20);
  words.add(2, "memory", 20);
  words.add(2, "cuda", 40);
  words.add(2, "~gpu", 15);
  CHECK_FALSE(words.vote("nothing that is known", ""));
  const auto plain = words.vote("memory, memory", "");
  REQUIRE(plain);
  CHECK(plain->rule == 0);
  CHECK(plain->ahead == 20);
  const auto gpu = words.vote("CUDA memory", "gpu");
  REQUIRE(gpu);
  CHECK(gpu->rule == 2);
  CHECK(gpu->ahead == 35);  // 20 + 40 + 15 - 20, of 30 - 10
}

TEST_CASE("a word may speak against a class, and a stem for one") {
  WordWeights words;
  words.add(0, "*", 0);
  words.add(0, "memory", 30);
  words.add(0, "shared", -25);
  words.add(1, "*", 0);
  words.add(1, "^alloc", 10);
  const auto stem = words.vote("allocator: shared memory", "");
  REQUIRE(stem);
  CHECK(stem->rule == 1);
  CHECK(stem->ahead == 5);
}

TEST_CASE("a book's guess holds what words and what patterns say") {
  const auto book = RuleBook::parse(
      {{"F",
        "[a]\ntitle: x\nguess: (?i)disk\n[b]\ntitle: y\n"
        "words: * -5 full 30\n  ~a 20 disk 10\n[a]\nwords: disk 12\n"}});
  REQUIRE(book);
  const LineGuess guess = book->guess("Disk full");
  REQUIRE(guess.rule != nullptr);
  CHECK(guess.rule->code == "a");
  REQUIRE(guess.by_words != nullptr);
  CHECK(guess.by_words->code == "b");
  CHECK(guess.ahead == 43);
  CHECK(book->guess("no such word").by_words == nullptr);
}
