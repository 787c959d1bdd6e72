#include "fast.h"

#include <fmt/format.h>

#include <variant>

namespace attn::cuda {

Choice make_fast(const Step& step) {
  return std::visit(
      [&](const auto& op) {
        if constexpr (requires { make_fast(op, step); }) {
          return make_fast(op, step);
        } else {
          return Choice(fmt::format("no fast kernel of {}", graph::name_of(step.op)));
        }
      },
      step.op);
}

}  // namespace attn::cuda
