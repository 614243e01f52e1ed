// SPDX-License-Identifier: Apache-2.0
// Where an mpirun line wants its ranks' files.
#include "job/output_files.h"

#include "base/text.h"
#include "catch.h"

namespace muster {
namespace {

// "/o", "/o only", "/o more"
std::string read(const std::string& text) {
  std::vector<std::string> words;
  for (const auto word : split_words(text)) words.emplace_back(word);
  const auto line = parse_mpirun_line(words);
  if (!line) FAIL(text << ": " << line.error().text());
  const OutputFiles files = output_files(*line);
  return files.directory + (files.only ? " only" : "") +
         (files.more ? " more" : "");
}

TEST_CASE("the directory that a line names for its ranks' output") {
  const std::pair<const char*, const char*> rows[] = {
      {"mpirun -np 1 ./a --output-filename /o", ""},
      {"mpirun --output-filename /o ./a", "/o"},
      {"mpirun --output-filename=/o ./a", "/o"},
      {"mpirun -output-filename o/x:nojobid ./a", "o/x"},
      {"mpirun --output-filename /o:nocopy,nojobid ./a", "/o only"},
      {"mpirun --output-filename /o:NOCOPY ./a", "/o only"},
      {"mpirun --output-filename /a:b ./a", "/a:b"},  // part of the name
      {"mpirun --output-filename :nocopy ./a", ""},   // no name
      {"mpirun --output-directory /o:nocopy ./a", "/o only"},
      {"mpirun --output dir=/o ./a", "/o"},
      {"mpirun --output directory=/o:nocopy ./a", "/o only"},
      {"mpirun --output FILE=/o/x ./a", "/o/x"},
      {"mpirun --output tag,dir=/o ./a", "/o more"},
      {"mpirun --output tag ./a", ""},
      {"mpirun --output-filename /o ./a : --output-filename /p ./b", "/p"},
      {"horovodrun --output-filename /o -np 2 ./a", ""},
      {"mpiexec.hydra -outfile-pattern /o/%r ./a", ""},
  };
  for (const auto& [text, wanted] : rows) {
    INFO(text);
    CHECK(read(text) == wanted);
  }
}

}  // namespace
}  // namespace muster
