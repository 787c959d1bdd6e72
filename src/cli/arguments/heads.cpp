#include "arguments/heads.h"

namespace attn::cli {

void add_heads(Options& options, library::Heads& heads) {
  options.add("--layer", heads.layer, "NAME|INDEX", "show only this attention layer, by name or index from 0");
  options.add("--head", heads.head, "N", "show only this head, by index from 0").not_negative();
  options.add("--item", heads.item, "N", "batch item to show, by index from 0 (default 0)").not_negative();
  options.add("--labels", heads.labels, "FILE", "position labels, such as tokens, one per line; repeatable");
  options.flag("--log", heads.log_scale, "use a logarithmic color scale over four decades");
}

}  // namespace attn::cli
