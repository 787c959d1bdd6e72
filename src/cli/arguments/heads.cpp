#include "arguments/heads.h"

namespace attn::cli {

void add_heads(Options& options, library::Heads& heads) {
  options.add("--layer", heads.layer, "NAME|INDEX", "only this attention layer, by name or number from 0");
  options.add("--head", heads.head, "N", "only this head, from 0").not_negative();
  options.add("--item", heads.item, "N", "the item of the batch, from 0 (0)").not_negative();
  options.add("--labels", heads.labels, "FILE", "names of the positions, such as tokens, one per line; repeatable");
  options.flag("--log", heads.log_scale, "colours by the logarithm, over four decades");
}

}  // namespace attn::cli
