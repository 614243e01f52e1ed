// SPDX-License-Identifier: Apache-2.0
// Reads facts that are one text where the schema has an object: "mlx5_0 IB
// 400", "mlx5_0 port 1 ==> eth2 (Up)" of ibdev2netdev, "mlx5_0:1/RoCE" and
// "eth0:10.0.0.1<0>" of NCCL's log, lines of `export NAME=VALUE`. Refuses an
// unreadable word: as a part of a name it would silently mean something else.
// Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string_view>

#include "base/result.h"

namespace muster {

// NAME [port N] [==> NETDEV] [state] [link layer] [rate]
Result<nlohmann::json> hca_of_words(std::string_view text);
// NAME [ADDRESS/LENGTH]… [default] [up|down]
Result<nlohmann::json> netdev_of_words(std::string_view text);
// The adapters of NCCL's "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO];
// …", each as a text; empty for other lines.
nlohmann::json hcas_of_log(std::string_view line);
// Such a line, or the result of listed_texts() for a list.
nlohmann::json listed_hcas(std::string_view text);
// "8x ConnectX-7 400G" among the entries, which get such cards' names.
void name_counted(nlohmann::json& list);
// The same of "NET/Socket : Using [0]eth0:10.0.0.1<0> [1]…".
nlohmann::json netdevs_of_log(std::string_view line);
nlohmann::json listed_netdevs(std::string_view text);
// "Open MPI 4.1.5" -> {"family": "openmpi", "version": "4.1.5"}
nlohmann::json library_of_words(std::string_view text);
// NAME [VERSION]
nlohmann::json plugin_of_words(std::string_view text);
// Lines of nccl.conf, with the blanks, marks and words that NCCL does not
// strip; several variables on a line are a person's way of writing.
nlohmann::json conf_of_lines(std::string_view text);
// Lines of NAME=VALUE, each after export, -x or -e; several on a line.
nlohmann::json variables_of_words(std::string_view text);
// "a,b[0,2]" and lines -> a list of texts.
nlohmann::json listed_texts(std::string_view text);
// Gb/s of four lanes of this InfiniBand generation ("NDR"), or of the number in
// its name ("NDR200"); 0 for other words.
int generation_gbps(std::string_view word);
// "400 Gb/sec (4X NDR)", "4X NDR", "50 GB/s", "25000Mb/s", "25" of such a unit;
// 0 for "unknown", nullopt if the text is not a rate.
std::optional<double> gbps_of_words(std::string_view text, double gbps_of_one);

}  // namespace muster
