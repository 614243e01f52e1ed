// SPDX-License-Identifier: Apache-2.0
// Objects by name as the lists that they stand for. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace muster {

// {"a": {…}, "b": {…}} -> [{"name": "a", …}, {"name": "b", …}], `field` being
// "name"; mlx5_2 before mlx5_10.
nlohmann::json by_key(nlohmann::json object, const char* field);
// Such an object: all its values are objects, and there are some.
bool all_objects(const nlohmann::json& json);

}  // namespace muster
