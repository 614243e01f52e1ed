// SPDX-License-Identifier: Apache-2.0
// The standard headers that most files include, parsed once for each folder:
// for builds with -Db_pch=true only, so every file includes what it uses.
#pragma once
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>
