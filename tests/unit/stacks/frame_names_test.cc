// SPDX-License-Identifier: Apache-2.0
// Names as people read them, and what they tell.
#include "stacks/frame_names.h"

#include "catch.h"

namespace muster {
namespace {

// As an H200's job had them on its stacks.
constexpr const char* kBoxed =
    "_ZN3c104impl31make_boxed_from_unboxed_functorINS0_6detail31"
    "WrapFunctionIntoRuntimeFunctor_IPFSt5tupleIJSt6vectorIS5_IN2at6TensorE"
    "SaIS7_EESaIS9_EENS_13intrusive_ptrIN4c10d4WorkENS_6detail34"
    "intrusive_target_default_null_typeISE_EEEEEERKSB_NS_8ArrayRefIS7_EERKNS"
    "C_INSD_12ProcessGroupENSG_ISO_EEEEblESJ_NS_4guts8typelist8typelistIJSL_"
    "SN_SS_blEEEEELb0EE4callEPNS_14OperatorKernelERKNS_14OperatorHandleENS_"
    "14DispatchKeySetEPS5_INS_6IValueESaIS17_EE";
constexpr const char* kAllgather =
    "_ZN4c10d16ProcessGroupNCCL9allgatherERSt6vectorIS1_IN2at6TensorESaIS3_EE"
    "SaIS5_EERS5_RKNS_16AllgatherOptionsE";

TEST_CASE("functions of C++ are told without templates and parameters") {
  CHECK(short_function(kAllgather) == "c10d::ProcessGroupNCCL::allgather");
  CHECK(short_function(kBoxed) ==
        "c10::impl::make_boxed_from_unboxed_functor::call");
  CHECK(short_function("_ZN3c104cuda18device_synchronizeEv") ==
        "c10::cuda::device_synchronize");
  CHECK(short_function("_Z26THCPModule_cudaSynchronizeP7_objectS0_") ==
        "THCPModule_cudaSynchronize");
  // In no namespace with a name; a template, which has its type in front.
  CHECK(short_function("_ZN4c10d3ops12_GLOBAL__N_114allgather_CUDAEb") ==
        "c10d::ops::allgather_CUDA");
  CHECK(short_function("_Z3addIiET_S0_S0_") == "add");
  CHECK(short_function("_ZN1AclEi") == "A::operator()");
  CHECK(short_function("_ZNK1AltERKS_") == "A::operator<");
  CHECK(short_function("_ZN1AcvbEv") == "A::operator bool");
  CHECK(short_function("_Znwm") == "operator new");
}

TEST_CASE("what is none of C++ stays, and nothing is long") {
  for (const char* const name : {"main", "PMPI_Allreduce", "_Z", "_ZZZ", "?"}) {
    CHECK(short_function(name) == name);
  }
  CHECK(short_function(std::string(700, 'f')).size() <= 120);
  const std::string part(200, 'a');
  CHECK(short_function("_ZN200" + part + "1fEv").size() <= 120);
}

TEST_CASE("a frame has a function and a file") {
  CHECK(function_of("main (a.out)") == "main");
  CHECK(function_of("A::operator bool (a.out)") == "A::operator bool");
  CHECK(file_of("A::operator bool (a.out)") == "a.out");
  CHECK(function_of("main") == "main");
  CHECK(file_of("main").empty());
}

TEST_CASE("where a rank may wait for others") {
  struct Case {
    const char* function;
    CallKind kind;
  };
  for (const Case& one :
       {Case{"MPI_Recv", CallKind::kTalk},
        {"PMPI_Allreduce", CallKind::kTalk},
        {"PMPI_Init_thread", CallKind::kSetUp},
        {"ncclGroupEnd", CallKind::kTalk},
        {"ncclCommInitRankConfig", CallKind::kSetUp},
        {"ucp_worker_progress", CallKind::kTalk},
        {"gloo::allreduce", CallKind::kTalk},
        {"c10d::ProcessGroupNCCL::allgather", CallKind::kGroup},
        {"c10d::TCPStore::wait", CallKind::kGroup},
        {"c10d::ops::allgather_CUDA", CallKind::kOther},
        {"cudaDeviceSynchronize", CallKind::kDevice},
        {"cuCtxSynchronize_v2", CallKind::kDevice},
        {"cudaStreamSynchronize", CallKind::kDevice},
        {"cuMemcpyDtoH_v2", CallKind::kDevice},
        {"cudaMemcpyAsync", CallKind::kOther},
        {"cublasLtMatmul", CallKind::kOther},
        {"clock_nanosleep", CallKind::kOther},
        {"_PyAST_Compile", CallKind::kOther},
        {"?", CallKind::kOther}}) {
    INFO(one.function);
    CHECK(call_kind(one.function) == one.kind);
  }
}

TEST_CASE("the call that counts is the outermost one of a library") {
  // PyTorch's groups call NCCL: the name that says what it does is NCCL's.
  CHECK(call_at({"? (libnccl.so.2)", "ncclCommInitRankConfig (libnccl.so.2)",
                 "c10d::ProcessGroupNCCL::initNCCLComm (libtorch_cuda.so)",
                 "c10d::ProcessGroupNCCL::allgather (libtorch_cuda.so)",
                 "_start (python3.12)"}) == size_t{1});
  CHECK(call_at({"recv (libc.so.6)", "c10d::TCPStore::wait (libtorch_cpu.so)",
                 "c10d::PrefixStore::wait (libtorch_cpu.so)",
                 "_start (python3.12)"}) == size_t{2});
  CHECK(call_at({"PMPI_Wait (libmpi.so)", "PMPI_Allreduce (libmpi.so)",
                 "main (app)"}) == size_t{1});
  CHECK_FALSE(call_at({"read (libc.so.6)", "main (app)"}));
  CHECK_FALSE(call_at({}));
}

}  // namespace
}  // namespace muster
