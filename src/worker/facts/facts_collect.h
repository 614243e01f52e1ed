// SPDX-License-Identifier: Apache-2.0
// Puts together what a pod is. The quick part reads kernel files and takes
// about a millisecond; the whole asks the image's own mpirun, the user
// database and library files, and may take seconds: run it in a helper.
// `root` is put before every absolute path (tests). Never fails: what cannot
// be found out stays unknown.
#pragma once

#include <string>
#include <vector>

#include "base/known_files.h"
#include "fabric/collect/program_call.h"
#include "job/node_facts.h"
#include "worker/facts/facts_cgroup.h"

namespace muster {

// `place`: the control group of this pod, which its agent knows already.
NodeFacts collect_quick_facts(const std::string& root,
                              const CgroupPlace& place);
// `mpirun`: the one whose version counts; "": the first on PATH. `known`: what
// the pod's worker has learnt before. `gpu_facts`: the socket where it answers
// what the drivers of GPUs say; "": none. `programs`: what ranks run; the NCCL
// and CUDA runtime of the first one here that has them count. Their
// environments are what comes on top of the pod's. `drivers`: those of GPUs may
// be started, which takes some 0.3 s.
NodeFacts collect_all_facts(const std::string& root, const CgroupPlace& place,
                            const std::string& mpirun = {},
                            KnownFiles known = {},
                            const std::string& gpu_facts = {},
                            std::vector<ProgramCall> programs = {},
                            bool drivers = true);
// The facts of its image that a worker collects before any job.
KnownFiles learn_image(const std::string& root);

}  // namespace muster
