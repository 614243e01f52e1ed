// SPDX-License-Identifier: Apache-2.0
#include "diagnosis/book/foreign_words.h"

#include "catch.h"

using namespace muster;

TEST_CASE("what the C library says in other languages is put into English") {
  CHECK(in_english("tar: x: No se puede efectuar open: Permiso denegado") ==
        "tar: x: No se puede efectuar open: Permission denied");
  CHECK(in_english("bash: mpirun: Kommando nicht gefunden.") ==
        "bash: mpirun: command not found.");
  CHECK(in_english("打开 x: 没有那个文件或目录") ==
        "打开 x: No such file or directory");
}

TEST_CASE("in whatever case, and more than once") {
  CHECK(in_english("permiso denegado; PERMISO DENEGADO") ==
        "Permission denied; Permission denied");
  CHECK(in_english("run.sh: line 3: 7 Speicherzugriffsfehler "
                   "(Speicherabzug geschrieben)") ==
        "run.sh: line 3: 7 Segmentation fault (core dumped)");
}

TEST_CASE("English, and too short a line, stay as they are") {
  CHECK(in_english("Permission denied").empty());
  CHECK(in_english("Perm").empty());
  CHECK(in_english("").empty());
}
