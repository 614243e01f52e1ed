// SPDX-License-Identifier: Apache-2.0
// Classifies one word of a fact, as people and programs write it: a link layer,
// a state, a rate, an address. Words are in lower case unless stated otherwise.
// Pure.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "base/result.h"

namespace muster {

bool one_of(std::string_view word, std::initializer_list<const char*> words);
bool is_layer(std::string_view word);
bool is_state(std::string_view word);
bool is_rate(std::string_view word);       // "400", "400g", "400gb/s"
bool is_driver(std::string_view word);     // of an adapter
bool is_interface(std::string_view word);  // as written: "enp216s0", "eth2"
bool is_product(std::string_view word);
bool is_unit(std::string_view word);
bool is_label(std::string_view word);        // "rate:", "inet"
bool is_pci_address(std::string_view word);  // in any case
bool is_address(std::string_view word);      // of IP, in any case

std::string_view without_end(std::string_view word, std::string_view marks);
std::string_view without_place(std::string_view word);
std::string_view layer_of(std::string_view word);
std::string with_brackets(std::string_view name);

// `form`: how an entry of `list` may be written.
tl::unexpected<Error> unreadable(const char* list, std::string_view text,
                                 std::string_view word, const char* form);

}  // namespace muster
