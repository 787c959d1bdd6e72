// Names come from torch/nn/modules/transformer.py and activation.py, and from
// transformers/models/bert/modeling_bert.py, whose LayerNorms once had gamma and beta.
#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <tuple>

#include "attn/base/rows.h"
#include "modules.h"

namespace attn::weights {
namespace {

using Kind = ModuleKind;
using Place = ModulePlace;

/// Classifies a module by the end of its name.
struct ModuleRule {
  std::string_view pattern;
  Kind kind;
  Place place;
  int index;
  std::string_view role;
};

// The first matching rule counts.
constexpr std::array<ModuleRule, 20> kModules = {{
    // torch.nn.TransformerEncoder, or a list of layers
    {"#.self_attn", Kind::attention, Place::block, 0, ""},
    {"#.linear1", Kind::dense, Place::block, 0, ""},
    {"#.linear2", Kind::dense, Place::block, 1, ""},
    {"#.norm1", Kind::norm, Place::block, 0, ""},
    {"#.norm2", Kind::norm, Place::block, 1, ""},
    {"norm", Kind::norm, Place::last, 0, ""},
    // torch.nn.TransformerEncoderLayer on its own
    {"self_attn", Kind::attention, Place::block, 0, ""},
    {"linear1", Kind::dense, Place::block, 0, ""},
    {"linear2", Kind::dense, Place::block, 1, ""},
    {"norm1", Kind::norm, Place::block, 0, ""},
    {"norm2", Kind::norm, Place::block, 1, ""},
    // BERT. The output module of its attention belongs to the attention.
    {"embeddings.word_embeddings", Kind::embedding, Place::other, 0, "word"},
    {"embeddings.position_embeddings", Kind::embedding, Place::other, 0, "position"},
    {"embeddings.token_type_embeddings", Kind::embedding, Place::other, 0, "segment"},
    {"embeddings.LayerNorm", Kind::norm, Place::first, 0, ""},
    {"encoder.layer.#.attention", Kind::attention, Place::block, 0, ""},
    {"encoder.layer.#.attention.output.LayerNorm", Kind::norm, Place::block, 0, ""},
    {"encoder.layer.#.intermediate.dense", Kind::dense, Place::block, 0, ""},
    {"encoder.layer.#.output.dense", Kind::dense, Place::block, 1, ""},
    {"encoder.layer.#.output.LayerNorm", Kind::norm, Place::block, 1, ""},
}};

/// The name of a module's array, and the part of the Keras layer that it becomes.
struct PartRule {
  std::string_view name;
  Kind kind;
  std::string_view part;  // "*/…" for query, key and value, concatenated along the first axis
};

constexpr std::array<PartRule, 22> kParts = {{
    {"in_proj_weight", Kind::attention, "*/kernel"},
    {"in_proj_bias", Kind::attention, "*/bias"},
    {"q_proj_weight", Kind::attention, "query/kernel"},
    {"k_proj_weight", Kind::attention, "key/kernel"},
    {"v_proj_weight", Kind::attention, "value/kernel"},
    {"out_proj.weight", Kind::attention, "attention_output/kernel"},
    {"out_proj.bias", Kind::attention, "attention_output/bias"},
    {"self.query.weight", Kind::attention, "query/kernel"},
    {"self.query.bias", Kind::attention, "query/bias"},
    {"self.key.weight", Kind::attention, "key/kernel"},
    {"self.key.bias", Kind::attention, "key/bias"},
    {"self.value.weight", Kind::attention, "value/kernel"},
    {"self.value.bias", Kind::attention, "value/bias"},
    {"output.dense.weight", Kind::attention, "attention_output/kernel"},
    {"output.dense.bias", Kind::attention, "attention_output/bias"},
    {"weight", Kind::dense, "kernel"},
    {"bias", Kind::dense, "bias"},
    {"weight", Kind::norm, "gamma"},
    {"bias", Kind::norm, "beta"},
    {"gamma", Kind::norm, "gamma"},
    {"beta", Kind::norm, "beta"},
    {"weight", Kind::embedding, "embeddings"},
}};

/// Arrays that PyTorch saves but that are not weights.
constexpr std::array<std::string_view, 1> kBuffers = {"embeddings.position_ids"};

constexpr std::array<std::string_view, 3> kThirds = {"query", "key", "value"};

bool is_number(std::string_view text) {
  constexpr std::size_t kMostDigits = 9;
  return !text.empty() && text.size() <= kMostDigits && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// Returns the length of the name before the pattern; empty if the name does not end in it. `number` is the value of
/// "#".
std::optional<std::size_t> before(std::string_view name, std::string_view pattern, std::int64_t& number) {
  std::size_t left = name.size();  // number of characters not yet matched
  bool more = true;
  while (more) {
    const std::size_t dot = pattern.rfind('.');
    more = dot != std::string_view::npos;
    const std::string_view wanted = more ? pattern.substr(dot + 1) : pattern;
    pattern = more ? pattern.substr(0, dot) : std::string_view();
    const std::size_t start = name.substr(0, left).rfind('.') + 1;  // 0 if there is no dot
    const std::string_view found = name.substr(start, left - start);
    if (wanted == "#") {
      if (!is_number(found)) return std::nullopt;
      std::from_chars(found.data(), found.data() + found.size(), number);
    } else if (found != wanted) {
      return std::nullopt;
    }
    if (more && start == 0) return std::nullopt;
    left = more ? start - 1 : start;
  }
  return left;
}

/// A module's part that a rule names.
struct MatchedPart {
  std::string module;
  std::string stack;
  ModuleRule rule;
  std::int64_t block = 0;
  std::string_view part;
};

/// Returns the name without the part's name and the dot before it; empty if the name does not end in the part's name.
std::optional<std::string> module_of(const std::string& name, const PartRule& part) {
  std::int64_t unused = 0;
  const auto left = before(name, part.name, unused);
  if (!left) return std::nullopt;
  return name.substr(0, *left == 0 ? 0 : *left - 1);
}

std::optional<MatchedPart> found_by(const std::string& name, const ModuleRule& rule) {
  for (const PartRule& part : kParts) {
    const auto module = part.kind == rule.kind ? module_of(name, part) : std::nullopt;
    if (!module) continue;
    std::int64_t block = 0;
    const auto stack = before(*module, rule.pattern, block);
    if (stack) return MatchedPart{*module, module->substr(0, *stack), rule, block, part.part};
  }
  return std::nullopt;
}

using Ranks = std::map<std::string_view, int>;  // ranks of the arrays, by name

/// Classifies a module with an unknown name: attention by its parts, others by the rank of their weight.
std::optional<MatchedPart> found_by_parts(const std::string& name, const Ranks& ranks) {
  for (const PartRule& part : kParts) {
    const auto module = module_of(name, part);
    if (!module) continue;
    const auto has = [&](const char* array, int rank) {
      const auto found = ranks.find(module->empty() ? std::string(array) : *module + "." + array);
      return found != ranks.end() && found->second == rank;
    };
    bool fits = false;
    if (part.kind == Kind::attention) fits = has("in_proj_weight", 2) || has("q_proj_weight", 2);
    if (part.kind == Kind::dense) fits = has("weight", 2);
    if (part.kind == Kind::norm) fits = has("weight", 1) || has("gamma", 1);
    if (fits) return MatchedPart{*module, "", {"", part.kind, Place::other, 0, ""}, 0, part.part};
  }
  return std::nullopt;
}

std::optional<MatchedPart> find(const std::string& name, const Ranks& ranks) {
  for (const ModuleRule& rule : kModules)
    if (auto found = found_by(name, rule)) return found;
  return found_by_parts(name, ranks);
}

/// Returns false if another array already is that part.
bool add_part(TorchModule& module, std::string_view part, const NamedTensor& array) {
  if (!part.starts_with("*/")) return module.parts.emplace(part, TorchModule::Part{array.name, array.tensor}).second;
  const std::int64_t third = array.tensor.shape()[0] / 3;
  bool is_new = true;
  for (std::size_t i = 0; i < kThirds.size(); ++i) {
    const Tensor tensor = rows_view(array.tensor, static_cast<std::int64_t>(i) * third, third);
    const std::string name = std::string(kThirds[i]) + std::string(part.substr(1));
    is_new = module.parts.emplace(name, TorchModule::Part{array.name, tensor}).second && is_new;
  }
  return is_new;
}

bool is_buffer(const std::string& name) {
  std::int64_t unused = 0;
  return std::any_of(kBuffers.begin(), kBuffers.end(),
                     [&](std::string_view pattern) { return before(name, pattern, unused).has_value(); });
}

bool can_be_split(const Tensor& tensor) { return tensor.shape().rank() > 0 && tensor.shape()[0] % 3 == 0; }

}  // namespace

TorchModules torch_modules(std::span<const NamedTensor> arrays) {
  Ranks ranks;
  for (const NamedTensor& array : arrays) ranks.emplace(array.name, array.tensor.shape().rank());
  TorchModules out;
  std::map<std::pair<std::string, Kind>, std::size_t> known;
  for (const NamedTensor& array : arrays) {
    if (is_buffer(array.name)) continue;
    const auto found = find(array.name, ranks);
    if (!found || (found->part.starts_with("*/") && !can_be_split(array.tensor))) {
      out.unknown.push_back(array.name);
      continue;
    }
    const auto [module, is_new] = known.emplace(std::pair(found->module, found->rule.kind), out.modules.size());
    if (is_new) {
      out.modules.push_back({found->rule.kind,
                             found->module,
                             found->stack,
                             found->rule.place,
                             found->block,
                             found->rule.index,
                             std::string(found->rule.role),
                             {}});
    }
    if (!add_part(out.modules[module->second], found->part, array)) out.unknown.push_back(array.name);
  }
  std::stable_sort(out.modules.begin(), out.modules.end(), [](const TorchModule& a, const TorchModule& b) {
    const auto key = [](const TorchModule& module) {
      const int region = module.place == Place::first ? 0 : module.place == Place::block ? 1 : 2;
      return std::tuple(region, module.block, module.index);
    };
    return key(a) < key(b);
  });
  return out;
}

}  // namespace attn::weights
