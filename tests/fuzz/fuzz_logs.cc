// SPDX-License-Identifier: Apache-2.0
// Any bytes as a rank's output: splitting at any place gives the same lines,
// and no reader of lines crashes.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "logs/level.h"
#include "logs/line_grouper.h"
#include "logs/line_origin.h"
#include "logs/line_splitter.h"
#include "logs/masker.h"

namespace {

using muster::LineSplitter;

std::vector<std::string> pieces(std::string_view text, size_t step) {
  std::vector<std::string> all;
  const LineSplitter::Sink sink = [&all](const LineSplitter::Piece& piece) {
    all.push_back((piece.progress ? "%" : "=") + std::string(piece.text));
  };
  LineSplitter splitter(0);
  for (size_t at = 0; at < text.size(); at += step) {
    splitter.feed(text.substr(at, step), 1, sink);
  }
  splitter.finish(sink);
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace muster;
  static const Masker masker = *Masker::create({{}, {"x(\\d+)"}});
  static const Masker built_in = *Masker::create({});
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto whole = pieces(text, text.size() + 1);
  if (pieces(text, 1) != whole || pieces(text, 7) != whole) std::abort();
  LineGrouper grouper;
  MaskState state;
  for (const std::string& piece : whole) {
    static_cast<void>(parse_line(piece));
    static_cast<void>(detect_level(piece));
    static_cast<void>(grouper.next(piece, 1));
    std::string masked = piece;
    const MaskState before = state;
    if (masker.mask(masked, state) && !masker.needs_look(piece, before)) {
      std::abort();
    }
    MaskState fresh;
    masked = piece;
    if (built_in.mask(masked, fresh) && !built_in.needs_look(piece, {})) {
      std::abort();  // the glance has missed a secret
    }
  }
  return 0;
}
