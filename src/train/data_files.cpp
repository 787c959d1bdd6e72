#include "attn/train/data_files.h"

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/open/inputs.h"

namespace attn::train {

std::vector<std::string> DataFiles::words(const keras::Model& model) const {
  if (data.empty() && x.empty()) throw bad_usage("no data: give `data` FILE, or `x` FILE and `y` FILE");
  std::vector<std::string> out = data;
  for (const std::string& word : x) {
    const auto [name, file] = open::named_file(word);
    const std::vector<std::string> inputs = model.array_names();
    if (name.empty() && inputs.size() != 1)
      throw bad_usage("`x` {}: the input is not given; `x` NAME=FILE names one of {}", printable(word),
                      printable(join(inputs, ", ")));
    out.push_back((name.empty() ? inputs.front() : name) + "=" + file);
  }
  for (const auto& [what, given] : {std::pair("y", &y), {"sample_weight", &sample_weights}}) {
    for (const std::string& word : *given) {
      const auto [name, file] = open::named_file(word);
      out.push_back(what + (name.empty() ? "" : ":" + name) + "=" + file);
    }
  }
  return out;
}

}  // namespace attn::train
