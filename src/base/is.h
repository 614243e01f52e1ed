// SPDX-License-Identifier: Apache-2.0
// Is<T> auto&: a T or a const T, so that one list of a type's fields serves
// its reader and its writer. Plain.
#pragma once

#include <concepts>
#include <type_traits>

namespace muster {

template <class Given, class Wanted>
concept Is = std::same_as<std::remove_const_t<Given>, Wanted>;

}  // namespace muster
