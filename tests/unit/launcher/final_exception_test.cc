// SPDX-License-Identifier: Apache-2.0
// Whose last words are an exception, and whose program is over.
#include "launcher/hang/final_exception.h"

#include "catch.h"

using namespace muster;

namespace {

constexpr int64_t kSecond = 1'000'000'000;

std::vector<LineEvidence> said(const std::vector<std::string>& texts,
                               int64_t at_ns = kSecond) {
  std::vector<LineEvidence> out;
  for (const std::string& text : texts) out.push_back({at_ns, true, text});
  return out;
}

const std::vector<std::string> kTraceback = {
    "Traceback (most recent call last):",
    "  File \"t.py\", line 6, in <module>",
    "    raise ValueError(\"bad batch 17\")", "ValueError: bad batch 17"};

}  // namespace

TEST_CASE("a traceback that nothing follows is a rank's last word") {
  CHECK(final_exception(said(kTraceback)) == "ValueError: bad batch 17");
  auto marked = kTraceback;
  for (std::string& line : marked) line.insert(0, "[rank1]: ");
  CHECK(final_exception(said(marked)) == "ValueError: bad batch 17");
  // More of the message, and of what runs at exit.
  auto lines = said(kTraceback);
  lines.push_back({kSecond, true, "  of the second epoch"});
  lines.push_back({kSecond * 2, false, "wandb: run synced"});
  CHECK(final_exception(lines) == "ValueError: bad batch 17");
  // Only the end of a long one is kept.
  lines = said({"    return step(x)", "           ^^^^^^^",
                "  File \"t.py\", line 9, in step", "    a[7]",
                "torch.cuda.OutOfMemoryError: no memory"});
  CHECK(final_exception(lines) == "torch.cuda.OutOfMemoryError: no memory");
  // 2>&1 in front of a pipe.
  lines = said(kTraceback);
  for (LineEvidence& line : lines) line.stderr_stream = false;
  CHECK(final_exception(lines) == "ValueError: bad batch 17");
}

TEST_CASE("a rank that goes on, or never raised, has no last word") {
  auto lines = said(kTraceback);
  lines.push_back({kSecond * 4, false, "step 18"});
  CHECK_FALSE(final_exception(lines));
  CHECK_FALSE(final_exception({}));
  CHECK_FALSE(final_exception(said({"loss: 3", "  File \"x\"", "  y"})));
  CHECK_FALSE(final_exception(said({"layers", "  a: 1", "total: 3"})));
  lines = said({"Exception ignored in: <function Loader.__del__>"});
  const auto more = said(kTraceback);
  lines.insert(lines.end(), more.begin(), more.end());
  CHECK_FALSE(final_exception(lines));
}

TEST_CASE("where a program is over") {
  const auto waiting =
      leaving_place({"clock_nanosleep (libc.so.6)", "usleep (libc.so.6)",
                     "ompi_mpi_finalize (libmpi.so.40)", "? (python3.11)",
                     "Py_RunMain (python3.11)", "_start (python3.11)"});
  CHECK(waiting.leaving);
  CHECK(waiting.call == "ompi_mpi_finalize");
  CHECK(leaving_place({"poll (libc.so.6)", "MPID_Finalize (libmpich.so.12)",
                       "PMPI_Finalize (libmpich.so.12)",
                       "Py_FinalizeEx (libpython3.11.so)",
                       "Py_RunMain (libpython3.11.so)"})
            .call == "PMPI_Finalize");
  // Joining threads, in an interpreter without names of its own functions.
  CHECK(leaving_place({"sem_wait (libc.so.6)", "? (python3.11)",
                       "Py_RunMain (python3.11)"})
            .leaving);
  const auto working = leaving_place(
      {"PMPI_Allreduce (libmpi.so.40)", "_PyEval_EvalFrameDefault (python3.11)",
       "PyEval_EvalCode (python3.11)", "Py_RunMain (python3.11)"});
  CHECK(working.known);
  CHECK_FALSE(working.leaving);
  CHECK_FALSE(leaving_place({}).known);
}
