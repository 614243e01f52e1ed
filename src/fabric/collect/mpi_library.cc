// SPDX-License-Identifier: Apache-2.0
#include "fabric/collect/mpi_library.h"

#include <dlfcn.h>

#include <array>
#include <vector>

namespace muster {

namespace {

template <class Handle>
struct MpiHandles {
  Handle world;
  Handle byte;
  Handle real;
  Handle sum;
  void* no_status;
};

template <class Handle>
struct MpiCalls {
  int (*init)(int*, char***);
  int (*finalize)();
  int (*rank)(Handle, int*);
  int (*size)(Handle, int*);
  int (*send)(const void*, int, Handle, int, int, Handle);
  int (*receive)(void*, int, Handle, int, int, Handle, void*);
  int (*allreduce)(const void*, void*, int, Handle, Handle, Handle);
  int (*barrier)(Handle);
  int (*version)(char*, int*);
};

template <class Function>
bool take(void* library, const char* name, Function& out) {
  out = reinterpret_cast<Function>(::dlsym(library, name));
  return out != nullptr;
}

template <class Handle>
bool load_calls(void* library, MpiCalls<Handle>& calls) {
  return take(library, "MPI_Init", calls.init) &&
         take(library, "MPI_Finalize", calls.finalize) &&
         take(library, "MPI_Comm_rank", calls.rank) &&
         take(library, "MPI_Comm_size", calls.size) &&
         take(library, "MPI_Send", calls.send) &&
         take(library, "MPI_Recv", calls.receive) &&
         take(library, "MPI_Allreduce", calls.allreduce) &&
         take(library, "MPI_Barrier", calls.barrier) &&
         take(library, "MPI_Get_library_version", calls.version);
}

template <class Handle>
class MpiOf : public MpiLibrary {
 public:
  MpiOf(MpiCalls<Handle> calls, MpiHandles<Handle> handles)
      : calls_(calls), handles_(handles) {}

  int init() { return calls_.init(nullptr, nullptr); }
  std::string version() override {
    std::array<char, 8192> text{};  // MPICH's maximum, the largest
    int length = 0;
    calls_.version(text.data(), &length);
    const std::string all(text.data());
    return all.substr(0, all.find_first_of(",\n"));
  }
  int rank() override {
    int out = -1;
    calls_.rank(handles_.world, &out);
    return out;
  }
  int size() override {
    int out = -1;
    calls_.size(handles_.world, &out);
    return out;
  }
  int send(const void* data, int bytes, int to) override {
    return calls_.send(data, bytes, handles_.byte, to, kTag, handles_.world);
  }
  int receive(void* data, int bytes, int from) override {
    return calls_.receive(data, bytes, handles_.byte, from, kTag,
                          handles_.world, handles_.no_status);
  }
  int sum(const double* from, double* to, int count) override {
    return calls_.allreduce(from, to, count, handles_.real, handles_.sum,
                            handles_.world);
  }
  int barrier() override { return calls_.barrier(handles_.world); }
  void finalize() override { calls_.finalize(); }

 private:
  static constexpr int kTag = 7;
  MpiCalls<Handle> calls_;
  MpiHandles<Handle> handles_;
};

using Opened = Result<std::unique_ptr<MpiLibrary>>;

template <class Handle>
Opened start(void* library, const MpiHandles<Handle>& handles) {
  MpiCalls<Handle> calls{};
  if (!load_calls(library, calls)) {
    return fail({"mpi_missing",
                 "cannot use this MPI library",
                 "it lacks functions of MPI 3",
                 {},
                 {}});
  }
  auto out = std::make_unique<MpiOf<Handle>>(calls, handles);
  if (const int code = out->init(); code != 0) {
    return fail(
        {"mpi_init", "MPI_Init fails", "code " + std::to_string(code), {}, {}});
  }
  return out;
}

// mpi.h of Open MPI: handles are the addresses of these objects.
Opened start_openmpi(void* library) {
  const MpiHandles<void*> handles{::dlsym(library, "ompi_mpi_comm_world"),
                                  ::dlsym(library, "ompi_mpi_byte"),
                                  ::dlsym(library, "ompi_mpi_double"),
                                  ::dlsym(library, "ompi_mpi_op_sum"), nullptr};
  return start(library, handles);
}

// mpi.h of MPICH, fixed since the ABI agreement of 2014 (MPICH, Intel MPI,
// MVAPICH).
Opened start_mpich(void* library) {
  const MpiHandles<int> handles{0x44000000, 0x4c00010d, 0x4c00080b, 0x58000003,
                                reinterpret_cast<void*>(1)};
  return start(library, handles);
}

std::vector<std::string> places(const std::string& mpirun,
                                const std::vector<std::string>& names) {
  std::vector<std::string> out;
  const size_t bin = mpirun.rfind("/bin/");
  for (const std::string& name : names) {
    if (bin != std::string::npos) {
      out.push_back(mpirun.substr(0, bin) + "/lib/" + name);
    }
    out.push_back(name);
  }
  return out;
}

void* open_first(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    // Global: the libraries' own plugins look for their symbols.
    if (void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL)) {
      return library;
    }
  }
  return nullptr;
}

}  // namespace

std::string mpi_family_of_mpirun(const std::string& path) {
  const auto has = [&](const char* word) {
    return path.find(word) != std::string::npos;
  };
  if (has("hydra") || has("mpich") || has("mvapich") || has("intel")) {
    return "mpich";
  }
  const bool open =
      has("orterun") || has("openmpi") || has("prte") || has("ompi");
  return open ? "openmpi" : "";
}

Opened open_mpi_library(const std::string& family, const std::string& mpirun) {
  if (family != "mpich") {
    void* library = open_first(places(mpirun, {"libmpi.so.40"}));
    if (library != nullptr) return start_openmpi(library);
  }
  if (family != "openmpi") {
    void* library =
        open_first(places(mpirun, {"libmpi.so.12", "libmpich.so.12"}));
    if (library != nullptr) {
      const bool open = ::dlsym(library, "ompi_mpi_comm_world") != nullptr;
      return open ? start_openmpi(library) : start_mpich(library);
    }
  }
  return fail({"mpi_missing",
               "no MPI library can be opened",
               "neither libmpi.so.40 nor libmpi.so.12 nor libmpich.so.12",
               {},
               "add the directory of the job's MPI to LD_LIBRARY_PATH"});
}

}  // namespace muster
