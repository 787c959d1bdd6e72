#include <array>

#include "modules.h"

namespace attn::weights {
namespace {

struct Ending {
  std::string_view text;
  ModuleKind kind;
};

// Longer endings first, because the layers of attention are also dense layers.
constexpr std::array<Ending, 13> kEndings = {{{"query/kernel", ModuleKind::attention},
                                              {"query/bias", ModuleKind::attention},
                                              {"key/kernel", ModuleKind::attention},
                                              {"key/bias", ModuleKind::attention},
                                              {"value/kernel", ModuleKind::attention},
                                              {"value/bias", ModuleKind::attention},
                                              {"attention_output/kernel", ModuleKind::attention},
                                              {"attention_output/bias", ModuleKind::attention},
                                              {"kernel", ModuleKind::dense},
                                              {"bias", ModuleKind::dense},
                                              {"gamma", ModuleKind::norm},
                                              {"beta", ModuleKind::norm},
                                              {"embeddings", ModuleKind::embedding}}};

const Ending* ending_of(std::string_view path) {
  for (const Ending& ending : kEndings)
    if (path.ends_with(ending.text) && path.size() > ending.text.size() &&
        path[path.size() - ending.text.size() - 1] == '/')
      return &ending;
  return nullptr;
}

}  // namespace

std::vector<KerasModule> keras_modules(std::span<const graph::WeightSpec> specs) {
  std::vector<KerasModule> out;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const std::string& path = specs[i].path;
    const Ending* ending = ending_of(path);
    if (ending == nullptr) continue;
    const std::string name = path.substr(0, path.size() - ending->text.size() - 1);
    const std::string part(ending->text);
    // The weights of a layer are consecutive; two layers may have the same path.
    if (out.empty() || out.back().name != name || out.back().kind != ending->kind || out.back().parts.contains(part))
      out.push_back({ending->kind, name, {}});
    out.back().parts.emplace(part, i);
  }
  return out;
}

}  // namespace attn::weights
