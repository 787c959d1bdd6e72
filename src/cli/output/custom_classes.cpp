#include "output/custom_classes.h"

#include <fmt/format.h>

#include "attn/base/text.h"

namespace attn::cli {

void warn_of_custom_classes(const keras::Model& model, const Console& console) {
  const std::vector<std::string> classes = model.custom_classes();
  if (classes.empty()) return;
  console.warn(
      fmt::format("not built in: {}; attn shows the layers of {} but does not run them. Use `attn flatten-script` to "
                  "replace them with built-in layers, in Python",
                  printable(join(classes, ", ")), classes.size() == 1 ? "this class" : "these classes"));
  if (model.has_unknown_params())
    console.warn("the parameters of custom layers are unknown; a .keras or .h5 file with their weights shows them");
}

}  // namespace attn::cli
