// SPDX-License-Identifier: Apache-2.0
#include "job/last_words.h"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>
#include <system_error>

#include "job/exit_codes.h"

namespace muster {

namespace {

// Only a pod without room for a thread or a descriptor, or without memory,
// throws, as far as known. Does not unwind the stack: a forked child would
// clean up its parent's state.
[[noreturn]] void last_words() {
  const char* hint = "This is an error inside muster, please report it";
  std::string why = "unknown exception";
  try {
    if (const auto error = std::current_exception()) {
      std::rethrow_exception(error);
    }
  } catch (const std::system_error& error) {
    hint = "Raise the pod's limits of processes (ulimit -u, pids) and files";
    why = error.what();
  } catch (const std::bad_alloc& error) {
    hint = "Raise the pod's memory limit";
    why = error.what();
  } catch (const std::exception& error) {
    why = error.what();
  } catch (...) {
  }
  std::fprintf(stderr, "muster: cannot go on: %s. %s.\n", why.c_str(), hint);
  std::_Exit(exit_code_for(ExitClass::kInternal));
}

}  // namespace

void end_in_a_sentence() { std::set_terminate(last_words); }

}  // namespace muster
