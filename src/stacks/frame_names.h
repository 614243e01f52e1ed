// SPDX-License-Identifier: Apache-2.0
// Readable names of functions, and their meaning: C++ names without their
// templates and parameters, and the calls in which a rank waits for others.
// Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

// "c10d::ProcessGroupNCCL::allgather" for the symbol of that function; a symbol
// that is not C++ stays as it is. At most 120 characters.
std::string short_function(const std::string& symbol);

// A frame is "FUNCTION (FILE)"; the function may have spaces.
std::string_view function_of(std::string_view frame);
std::string_view file_of(std::string_view frame);

enum class CallKind {
  kOther,
  kSetUp,   // makes a communicator: NCCL and MPI work in it, and wait
  kTalk,    // a call into MPI, NCCL, UCX or Gloo
  kGroup,   // of PyTorch's process groups and stores, which may call those
  kDevice,  // waits for a GPU, which may wait for NCCL's kernel
};
// `function`: as short_function() gives it.
CallKind call_kind(std::string_view function);

// Which of `frames`, innermost first, is the call in which a rank may wait for
// others: the outermost one into such a library; nullopt: there is none.
std::optional<size_t> call_at(const std::vector<std::string>& frames);

// A frame of the interpreter itself, which says nothing to a reader.
bool is_interpreter(std::string_view frame);
// A frame that every program begins with.
bool is_start(std::string_view frame);

}  // namespace muster
