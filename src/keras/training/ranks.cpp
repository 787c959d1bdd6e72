#include "training/ranks.h"

namespace attn::keras {

void match_ranks(LossCall& call) {
  const Shape truth = call.b.shape(call.y_true), pred = call.b.shape(call.y_pred);
  const auto with_one = [](Shape shape) {
    shape.push_back(1);
    return shape;
  };
  if (truth.rank() == pred.rank() + 1 && truth.back() == 1) {
    if (pred.rank() == 1) {
      call.y_pred = call.b.reshape(call.y_pred, with_one(pred));
      call.logits.reset();
    } else {
      call.y_true = call.b.reshape(call.y_true, truth.slice(0, truth.rank() - 1));
    }
  } else if (pred.rank() == truth.rank() + 1 && pred.back() == 1) {
    if (truth.rank() == 1) {
      call.y_true = call.b.reshape(call.y_true, with_one(truth));
    } else {
      call.y_pred = call.b.reshape(call.y_pred, pred.slice(0, pred.rank() - 1));
      call.logits.reset();
    }
  }
}

}  // namespace attn::keras
