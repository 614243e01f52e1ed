// SPDX-License-Identifier: Apache-2.0
// What every test file includes, parsed once for each folder (-Db_pch=true).
#pragma once
#include "../../../src/pch/standard.h"
#include "../catch.h"
