// SPDX-License-Identifier: Apache-2.0
// Progress and loss as the lines of training programs tell them.
#include "diagnosis/log/last_progress.h"

#include "catch.h"

namespace muster {
namespace {

TEST_CASE("all words of progress in a line, and the one for the whole job") {
  struct Case {
    const char* line;
    const char* marks;
    const char* progress;
  };
  for (const Case& one : {
           Case{"Epoch: [45/100] [ 700/ 1000]", "epoch 45/100", "epoch 45/100"},
           Case{"epoch=3 step=700", "epoch 3 step 700", "epoch 3"},
           Case{"Epoch 3/10, Step 7 of 90", "epoch 3/10 step 7/90",
                "epoch 3/10"},
           Case{"step 12 epoch 3/10", "step 12 epoch 3/10", "epoch 3/10"},
           Case{"batch size 32", "", ""},
           Case{"stepping 3", "", ""},
       }) {
    INFO(one.line);
    CHECK(progress_text(progress_marks(one.line)) == one.marks);
    CHECK(progress_in(one.line) == one.progress);
  }
}

TEST_CASE("the loss of a line") {
  struct Case {
    const char* line;
    const char* loss;
  };
  for (const Case& one : {
           Case{"step 3 loss=0.693 lr=1e-4", "0.693"},
           Case{"{'loss': 2.34, 'epoch': 0.1}", "2.34"},
           Case{"lm loss: 1.234567E+00 | grad", "1.234567E+00"},
           Case{"train_loss: 5", "5"},
           Case{"Loss 0.5 (0.6)", "0.5"},
           Case{"loss: nan", "nan"},
           Case{"val_loss: 5", ""},
           Case{"a loss of 3 packets", ""},
           Case{"lossless=1", ""},
       }) {
    INFO(one.line);
    CHECK(loss_in(one.line) == one.loss);
  }
}

}  // namespace
}  // namespace muster
