// SPDX-License-Identifier: Apache-2.0
// Which exceptions end a Python program, by its command line and source.
#include "worker/hang/uncaught.h"

#include "catch.h"

namespace muster {
namespace {

using Kind = MainProgram::Kind;

TEST_CASE("what an interpreter runs, by its command line") {
  struct Case {
    std::vector<std::string> command;
    Kind kind;
    const char* text;
  };
  const std::vector<Case> cases = {
      {{"python3", "t.py"}, Kind::kScript, "t.py"},
      {{"python3", "-u", "-X", "dev", "-Wignore", "/a/t.py", "-c", "x"},
       Kind::kScript,
       "/a/t.py"},
      {{"python3", "-W", "ignore", "t.py"}, Kind::kScript, "t.py"},
      {{"python3", "-c", "f()"}, Kind::kCode, "f()"},
      {{"python3", "-Bc", "f()", "x.py"}, Kind::kCode, "f()"},
      {{"python3", "-cf()"}, Kind::kCode, "f()"},
      {{"python3", "-m", "pkg", "-c", "x"}, Kind::kModule, ""},
      {{"python3", "-Impkg"}, Kind::kModule, ""},
      {{"python3", "-"}, Kind::kUnknown, ""},
      {{"python3"}, Kind::kUnknown, ""},
      {{"python3", "-c"}, Kind::kUnknown, ""},
      {{}, Kind::kUnknown, ""},
  };
  for (const Case& one : cases) {
    const MainProgram found = main_program(one.command);
    INFO((one.command.empty() ? "" : one.command.back()));
    CHECK(found.kind == one.kind);
    CHECK(found.text == one.text);
  }
}

struct Row {
  const char* source;
  int line;
  bool leaves;
};

TEST_CASE("a line outside of every try leaves its module") {
  const std::vector<Row> rows = {
      {"f()\n", 1, true},
      {"def f():\n  try:\n    g()\n  except E: pass\nf()\n", 5, true},
      {"if __name__ == '__main__':\n    main()\n", 2, true},
      {"for i in x:\n  if i:\n\n    # try:\n    f(i)\n", 5, true},
      {"try:\n    f()\nexcept E:\n    p()\ng()\n", 5, true},
      // In an except clause: that try does not catch it.
      {"try:\n    f()\nexcept E:\n    p()\n", 4, true},
      {"trying = f()\n", 1, true},
      {"with_it(f)\n", 1, true},
      {"f(1,\n2,\n  3)\n", 2, true},
      {"x = \"\"\"\ntry:\n\"\"\"\nf()\n", 4, true},
      {"x = 'a\\'b' + \\\n  f()\n", 2, true},
      {"f()", 1, true},
  };
  for (const Row& row : rows) {
    INFO(row.source);
    CHECK(leaves_module(row.source, row.line) == row.leaves);
  }
}

TEST_CASE("what may be caught, or cannot be followed, does not count") {
  const std::vector<Row> rows = {
      {"try:\n    f()\nexcept E:\n    print_exc()\n", 2, false},
      {"try: f()\nexcept E: pass\n", 1, false},
      {"if a:\n  try :\n    if b:\n      f()\n  finally:\n    g()\n", 4, false},
      {"with suppress(E):\n    f()\n", 2, false},
      {"with(a) as b:\n\tf()\n", 2, false},
      {"async with a:\n  f()\n", 2, false},
      // The line that raised begins left of its statement.
      {"try:\n    f(\"\"\"\nx\"\"\", g())\nexcept E: pass\n", 3, false},
      {"try:\n    s = \"\"\"\na\n\"\"\"\n    f()\nexcept E: pass\n", 5, false},
      {"try:\n    a = [\n1,\n]\n    f()\nexcept E: pass\n", 5, false},
      {"f('\n", 1, false},
      {"f())\n", 1, false},
      {"f(\n", 1, false},
      {"f()\n\n\n", 3, false},
      {"f()\n", 7, false},
      {"", 1, false},
  };
  for (const Row& row : rows) {
    INFO(row.source);
    CHECK(leaves_module(row.source, row.line) == row.leaves);
  }
}

TEST_CASE("places as lines for the helper") {
  const std::string text = to_text(RaisedAt{12, 6, "/a b/t.py"}) + "1f 2 3\n" +
                           to_text(RaisedAt{13, 1, "<string>"}) +
                           "raised 0 1 x\nraised 5\nraised\n";
  const auto read = raised_from_text(text);
  REQUIRE(read.size() == 2);
  CHECK(read[0].pid == 12);
  CHECK(read[0].line == 6);
  CHECK(read[0].file == "/a b/t.py");
  CHECK(read[1].file == "<string>");
}

}  // namespace
}  // namespace muster
