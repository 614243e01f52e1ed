// SPDX-License-Identifier: Apache-2.0
#include "stacks/frame_names.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

namespace muster {

namespace {

constexpr size_t kLongest = 120;

std::string demangled(const std::string& symbol) {
  if (!symbol.starts_with("_Z")) return symbol;
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status),
      std::free);
  return status == 0 && text ? std::string(text.get()) : symbol;
}

// Where "operator<", "operator()" and the like end that begin at `at`; 0: none
// does.
size_t end_of_operator(std::string_view text, size_t at) {
  constexpr std::string_view kWord = "operator";
  if (!text.substr(at).starts_with(kWord)) return 0;
  size_t end = at + kWord.size();
  if (text.substr(end).starts_with("()")) return end + 2;
  while (end < text.size() &&
         std::string_view("<>=-+*/%^&|!~,[]").find(text[end]) !=
             std::string_view::npos) {
    ++end;
  }
  return end > at + kWord.size() ? end : 0;
}

// Without the parts in <> and (), and without "(anonymous namespace)::".
std::string without_arguments(std::string_view text) {
  constexpr std::string_view kAnonymous = "(anonymous namespace)::";
  std::string out;
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (const size_t end = end_of_operator(text, i); end > 0) {
      if (depth == 0) out += text.substr(i, end - i);
      i = end - 1;
      continue;
    }
    if (text.substr(i).starts_with(kAnonymous)) {
      i += kAnonymous.size() - 1;
      continue;
    }
    const char c = text[i];
    if (c == '<' || c == '(' || c == '[' || c == '{') {
      if (depth++ == 0 && c == '{') out += "{lambda}";
      continue;
    }
    if (c == '>' || c == ')' || c == ']' || c == '}') {
      if (depth > 0) --depth;
      continue;
    }
    if (depth == 0) out += c;
  }
  return out;
}

// "void f" of a template, "f const" of a method.
std::string without_return_type(std::string text) {
  for (const std::string_view end : {" const", " volatile", " &", " &&"}) {
    if (text.ends_with(end)) text.resize(text.size() - end.size());
  }
  const size_t named = std::min(text.find("operator"), text.size());
  const size_t space = text.rfind(' ', named);
  if (space != std::string::npos && space < named) text.erase(0, space + 1);
  return text;
}

bool is_python(std::string_view file) {
  return file.starts_with("python") || file.starts_with("libpython");
}

bool starts_with_any(std::string_view text,
                     const std::initializer_list<std::string_view>& starts) {
  return std::any_of(starts.begin(), starts.end(),
                     [text](auto start) { return text.starts_with(start); });
}

}  // namespace

std::string short_function(const std::string& symbol) {
  std::string text = demangled(symbol);
  if (text != symbol) {
    std::string shorter = without_return_type(without_arguments(text));
    if (!shorter.empty()) text = std::move(shorter);
  }
  if (text.size() > kLongest) {
    constexpr std::string_view kCut = "…";
    text.replace(0, text.size() - kLongest + kCut.size(), kCut);
  }
  return text;
}

std::string_view function_of(std::string_view frame) {
  return frame.substr(0, frame.rfind(" ("));
}

std::string_view file_of(std::string_view frame) {
  const size_t at = frame.rfind(" (");
  if (at == std::string_view::npos || !frame.ends_with(')')) return {};
  return frame.substr(at + 2, frame.size() - at - 3);
}

CallKind call_kind(std::string_view function) {
  if (starts_with_any(function,
                      {"MPI_Init", "PMPI_Init", "mpi_init", "MPI_Session_init",
                       "PMPI_Session_init", "ncclCommInit", "pncclCommInit",
                       "ncclCommSplit", "ncclCommGrow"})) {
    return CallKind::kSetUp;
  }
  if (starts_with_any(function, {"MPI_", "PMPI_", "mpi_", "MPIX_", "PMPIX_",
                                 "nccl", "pnccl", "ucp_", "uct_", "ucc_",
                                 "gloo::", "shmem_", "nvshmem", "rccl"})) {
    return CallKind::kTalk;
  }
  if (starts_with_any(
          function, {"c10d::ProcessGroup", "c10d::TCPStore",
                     "c10d::PrefixStore", "c10d::FileStore", "c10d::HashStore",
                     "c10d::Work", "c10d::Backend"})) {
    return CallKind::kGroup;
  }
  if (function.find("Synchronize") != std::string_view::npos &&
      starts_with_any(function,
                      {"cuda", "cuCtx", "cuStream", "cuEvent", "hip", "ze"})) {
    return CallKind::kDevice;
  }
  // These copy at once, after the GPU's pending work.
  return starts_with_any(function, {"cuMemcpyDtoH_", "cudaMemcpy_"}) ||
                 function == "cudaMemcpy" || function == "cuMemcpyDtoH" ||
                 function == "hipMemcpy"
             ? CallKind::kDevice
             : CallKind::kOther;
}

std::optional<size_t> call_at(const std::vector<std::string>& frames) {
  std::optional<size_t> group;
  for (size_t i = frames.size(); i-- > 0;) {
    const CallKind kind = call_kind(function_of(frames[i]));
    if (kind == CallKind::kGroup && !group) group = i;
    if (kind != CallKind::kGroup && kind != CallKind::kOther) return i;
  }
  return group;
}

bool is_interpreter(std::string_view frame) {
  return is_python(file_of(frame));
}

bool is_start(std::string_view frame) {
  const std::string_view function = function_of(frame);
  return function == "_start" || function == "__libc_start_main" ||
         function == "__libc_start_call_main" ||
         (function == "?" && file_of(frame).starts_with("libc.so"));
}

}  // namespace muster
