#include "attn/keras/explanation.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "analysis/axis_names.h"
#include "analysis/symbols.h"
#include "attn/base/text.h"
#include "classes/custom_layer.h"
#include "classes/layer.h"

namespace attn::keras {
namespace {

using graph::at;
using graph::kNone;

/// Returns "d_model·h": a product of symbols, with equal factors as powers.
std::string short_product(const std::vector<NamedNumber>& factors) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    const std::string word = factors[i].symbol.empty() ? with_commas(factors[i].value) : factors[i].symbol;
    if (!words.empty() && words.back() == word) {
      words.back() += "²";
    } else {
      words.push_back(word);
    }
  }
  return words.empty() ? "1" : join(words, "·");
}

/// Returns the rank of a symbol in a product: d_model·h·d_head and h·d_head·d_model then have the same text.
int rank(const NamedNumber& factor) {
  static constexpr std::array<std::string_view, 9> kOrder = {"d_in", "d_model", "d_key",  "d_value", "d_out",
                                                             "h",    "g",       "d_head", "d_v"};
  return static_cast<int>(std::find(kOrder.begin(), kOrder.end(), factor.symbol) - kOrder.begin());
}

/// Returns "2·d_model·h·d_head + d_model·h·d_v".
std::string short_sum(const std::vector<const Product*>& lines) {
  std::vector<std::pair<std::string, int>> terms;
  for (const Product* line : lines) {
    std::vector<NamedNumber> sorted = line->factors;
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return rank(a) < rank(b); });
    const std::string text = short_product(sorted);
    const auto known = std::find_if(terms.begin(), terms.end(), [&](const auto& term) { return term.first == text; });
    if (known == terms.end()) {
      terms.emplace_back(text, 1);
    } else {
      ++known->second;
    }
  }
  std::vector<std::string> words;
  for (const auto& [text, count] : terms) words.push_back(count == 1 ? text : fmt::format("{}·{}", count, text));
  return join(words, " + ");
}

/// Sums the kernels and biases of an attention layer.
class AttentionSums {
 public:
  explicit AttentionSums(const std::vector<Product>& params) {
    for (const Product& line : params) (line.what.ends_with("/bias") ? biases_ : kernels_).push_back(&line);
  }

  void add(Explanation& out) const {
    if (kernels_.size() < 3) return;
    const auto size = [&](std::string_view symbol) -> Count {
      for (const Symbol& known : out.symbols)
        if (known.symbol == symbol) return known.value;
      return 0;
    };
    const Count d = size("d_model"), h = size("h"), head = size("d_head");
    const bool plain = size("d_key") + size("d_value") + size("d_v") + size("d_out") + size("g") == 0;
    // If all widths are equal and the heads fill them, the sum is the textbook's 4·d².
    if (plain && d > 0 && h * head == d) {
      const auto inputs = static_cast<int>(kernels_.size()) - 1;
      out.identities.push_back({"kernels", fmt::format("{}·d_model² + d_model² = {}·d_model²", inputs, inputs + 1),
                                total(kernels_), "h·d_head = d_model"});
      if (!biases_.empty())
        out.identities.push_back({"biases", fmt::format("{}·h·d_head + d_model = {}·d_model", inputs, inputs + 1),
                                  total(biases_), "h·d_head = d_model"});
      return;
    }
    out.identities.push_back({"kernels", short_sum(kernels_), total(kernels_), ""});
    if (!biases_.empty()) out.identities.push_back({"biases", short_sum(biases_), total(biases_), ""});
  }

 private:
  using Lines = std::vector<const Product*>;

  static Count total(const Lines& lines) {
    Count sum = 0;
    for (const Product* line : lines) sum += line->value;
    return sum;
  }
  Lines kernels_, biases_;
};

}  // namespace

/// The names of sizes in the explanation of one layer: a symbol stands for one size.
class Explainer::Names {
 public:
  explicit Names(Explanation& out) : out_(out) {}

  /// Resolves "a|b" to a or b, whichever means `value` or is unused; "" if both mean other sizes.
  std::string settle(const std::string& spelled, Count value) {
    for (const std::string& symbol : split(spelled, '|')) {
      if (symbol.empty()) return "";
      const auto known = std::find_if(out_.symbols.begin(), out_.symbols.end(),
                                      [&](const Symbol& other) { return other.symbol == symbol; });
      if (known == out_.symbols.end()) {
        out_.symbols.push_back({symbol, value, std::string(meaning_of(symbol))});
        return symbol;
      }
      if (known->value == value) return symbol;
    }
    return "";
  }

  /// Returns a weight as a product of its sizes.
  Product of_weight(const std::string& what, std::int32_t weight, const graph::WeightSpec& spec,
                    std::vector<std::string> symbols) {
    symbols.resize(at(spec.shape.rank()));
    Product line{what, spec.shape, {}, spec.shape.count()};
    for (int axis = 0; axis < spec.shape.rank(); ++axis) {
      std::string& symbol = symbols[at(axis)];
      symbol = settle(symbol, static_cast<Count>(spec.shape[axis]));
      line.factors.push_back({static_cast<Count>(spec.shape[axis]), symbol});
    }
    axes.of_weight[weight] = std::move(symbols);
    return line;
  }

  KnownAxes axes;

 private:
  Explanation& out_;
};

Explainer::Explainer(const Anatomy& anatomy, const graph::Graph& graph, std::span<const graph::NodeId> steps)
    : anatomy_(anatomy), graph_(graph), owners_(anatomy), nodes_(anatomy.parts.size()), is_step_(graph.nodes.size()) {
  for (const graph::NodeId id : steps) is_step_[at(id)] = true;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    if (const std::int32_t part = owners_.of(graph.nodes[i]); part != kNone)
      nodes_[at(part)].push_back(static_cast<graph::NodeId>(i));
}

std::optional<std::int32_t> Explainer::find(const std::string& name) const {
  std::optional<std::int32_t> found;
  for (std::int32_t part = 0; part < static_cast<std::int32_t>(anatomy_.parts.size()); ++part) {
    if (owners_.path(part) == name) return part;
    if (anatomy_.parts[at(part)].rest) continue;
    if (!found && anatomy_.parts[at(part)].layer != nullptr && anatomy_.parts[at(part)].name == name) found = part;
  }
  return found;
}

std::vector<std::string> Explainer::names() const {
  std::vector<std::string> out;
  for (std::int32_t part = 0; part < static_cast<std::int32_t>(anatomy_.parts.size()); ++part)
    if (!anatomy_.parts[at(part)].rest) out.push_back(owners_.path(part));
  return out;
}

std::int32_t Explainer::end_of(std::int32_t part) const {
  const int level = anatomy_.parts[at(part)].level;
  auto end = part + 1;
  while (at(end) < anatomy_.parts.size() && anatomy_.parts[at(end)].level > level) ++end;
  return end;
}

Count Explainer::params_of(std::int32_t part, bool trainable_only) const {
  Count total = 0;
  for (std::int32_t inner = part; inner < end_of(part); ++inner)
    for (const std::int32_t weight : anatomy_.parts[at(inner)].weights)
      if (const graph::WeightSpec& spec = graph_.weights[at(weight)]; spec.trainable || !trainable_only)
        total += spec.shape.count();
  return total;
}

Count Explainer::flops_of(std::int32_t part) const {
  Count total = 0;
  for (std::int32_t inner = part; inner < end_of(part); ++inner)
    for (const graph::NodeId id : nodes_[at(inner)])
      if (is_step_[at(id)]) total += graph::flops(graph_, graph_.nodes[at(id)], graph::HiddenPairs::counted);
  return total;
}

bool Explainer::is_made_of_layers(std::int32_t part) const {
  for (std::int32_t inner = part + 1; inner < end_of(part); ++inner)
    if (!anatomy_.parts[at(inner)].calls.empty()) return true;
  return false;
}

Explanation Explainer::explain(std::int32_t part) const {
  const Part& itself = anatomy_.parts[at(part)];
  Explanation out;
  out.name = owners_.path(part);
  out.class_name = itself.class_name;
  out.total_params = params_of(part, false);
  out.trainable_params = params_of(part, true);
  out.total_flops = flops_of(part);
  out.custom = itself.layer != nullptr && as_custom(*itself.layer) != nullptr;
  if (out.total_params == 0 && itself.layer != nullptr) out.no_params = why_no_params(*itself.layer);
  if (is_made_of_layers(part)) {
    add_inner(out, part);
    return out;
  }
  Names names(out);
  if (itself.rest) {  // sizes have the names of the enclosing layer
    const std::int32_t around = owners_.parent(part);
    if (!is_made_of_layers(around)) add_params(out, around, names);
    out.params.clear();
    out.no_params = "the layer's own work on the results of its parts";
    add_flops(out, is_made_of_layers(around) ? part : around, names, part);
    return out;
  }
  add_params(out, part, names);
  if (itself.layer != nullptr && itself.layer->info->role == Role::attention) AttentionSums(out.params).add(out);
  add_flops(out, part, names);
  return out;
}

void Explainer::add_inner(Explanation& out, std::int32_t part) const {
  Names names(out);
  // The weights that belong to the composite layer directly. Their names also apply to the rest of its arithmetic.
  const Part& itself = anatomy_.parts[at(part)];
  std::vector<Product> own;
  for (std::size_t i = 0; i < itself.weights.size(); ++i) {
    const graph::WeightSpec& spec = graph_.weights[at(itself.weights[i])];
    std::vector<std::string> symbols;
    if (itself.layer != nullptr) symbols = symbols_of(*itself.layer, itself.weight_names[i], spec.shape);
    own.push_back(names.of_weight(itself.weight_names[i], itself.weights[i], spec, std::move(symbols)));
  }
  for (std::int32_t inner = part + 1; inner < end_of(part); ++inner) {
    const Part& layer = anatomy_.parts[at(inner)];
    if (layer.level != itself.level + 1) continue;
    const std::string what = layer.class_name.empty() ? layer.name : layer.name + " (" + layer.class_name + ")";
    if (const Count params = params_of(inner, false); params > 0) out.params.push_back({what, {}, {}, params});
    if (layer.rest) {
      add_flops(out, inner, names);
    } else if (const Count flops = flops_of(inner); flops > 0) {
      out.flops.push_back({what, {}, {}, flops});
    }
  }
  std::move(own.begin(), own.end(), std::back_inserter(out.params));
}

void Explainer::add_params(Explanation& out, std::int32_t part, Names& names) const {
  for (std::int32_t inner = part; inner < end_of(part); ++inner) {
    const Part& group = anatomy_.parts[at(inner)];
    // A group of variables uses the names of the enclosing layer.
    std::int32_t around = inner;
    while (around != kNone && anatomy_.parts[at(around)].layer == nullptr) around = owners_.parent(around);
    for (std::size_t i = 0; i < group.weights.size(); ++i) {
      const graph::WeightSpec& spec = graph_.weights[at(group.weights[i])];
      const std::string in_layer = group.name + "/" + group.weight_names[i];
      std::vector<std::string> symbols;
      if (around != kNone) symbols = symbols_of(*anatomy_.parts[at(around)].layer, in_layer, spec.shape);
      out.params.push_back(names.of_weight(inner == part ? group.weight_names[i] : in_layer, group.weights[i], spec,
                                           std::move(symbols)));
    }
  }
}

std::string Explainer::role_of(const graph::Node& node, const Part& part) const {
  if (const auto* product = std::get_if<graph::MatMul>(&node.op))
    return product->transpose_y ? "scores: " : "weighted values: ";
  if (is_pairwise(graph_, node)) return "query and key: ";
  if (std::holds_alternative<graph::Binary>(node.op))
    for (const graph::ValueId input : node.inputs)
      for (std::size_t i = 0; i < part.weights.size(); ++i)
        if (part.weights[i] == owners_.weight(input)) return part.weight_names[i] + ": ";
  return "";
}

void Explainer::add_flops(Explanation& out, std::int32_t part, Names& names, std::int32_t only) const {
  AxisNames axes(graph_, owners_, out.symbols, names.axes);
  std::vector<std::pair<graph::NodeId, std::int32_t>> nodes;  // with the part that computes each node, in order
  for (std::int32_t inner = part; inner < end_of(part); ++inner)
    for (const graph::NodeId id : nodes_[at(inner)]) nodes.emplace_back(id, inner);
  std::sort(nodes.begin(), nodes.end());
  for (const auto& [id, inner] : nodes) {
    const graph::Node& node = graph_.nodes[at(id)];
    const Part& group = anatomy_.parts[at(inner)];
    const bool attends = group.layer != nullptr && group.layer->info->role == Role::dot_attention;
    axes.pass(node, attends);
    if (!is_step_[at(id)] || (only != kNone && inner != only)) continue;
    for (const graph::FlopTerm& term : graph::flop_terms(graph_, node, graph::HiddenPairs::counted)) {
      if (term.count() == 0) continue;
      const bool grouped = inner != part && !group.rest;
      Product line;
      line.what = grouped ? group.name + ": " + term.what : (attends ? role_of(node, group) : "") + term.what;
      line.value = term.count();
      for (const graph::Factor& factor : term.factors) {
        std::string symbol = axes.of(node, factor);
        if (!symbol.empty()) symbol = names.settle(symbol, factor.size);
        // An unnamed axis of size 1 was inserted for broadcasting, so the product omits it.
        if (factor.of == kNone || factor.size != 1 || !symbol.empty()) line.factors.push_back({factor.size, symbol});
      }
      const auto again = std::find_if(out.flops.begin(), out.flops.end(), [&](const Product& known) {
        return known.what == line.what && known.value == line.value * static_cast<Count>(known.calls);
      });
      if (again != out.flops.end()) {
        again->value += line.value;
        ++again->calls;
      } else {
        out.flops.push_back(std::move(line));
      }
    }
  }
}

std::vector<ClassTotals> Explainer::classes() const {
  std::vector<ClassTotals> out;
  for (std::int32_t part = 0; part < static_cast<std::int32_t>(anatomy_.parts.size()); ++part) {
    const Part& layer = anatomy_.parts[at(part)];
    const bool opened = layer.nested && end_of(part) > part + 1 && anatomy_.parts[at(part) + 1].nested;
    if (!layer.nested || opened) continue;
    auto totals =
        std::find_if(out.begin(), out.end(), [&](const auto& row) { return row.class_name == layer.class_name; });
    if (totals == out.end()) {
      const Explanation first = explain(part);
      out.push_back({layer.class_name, 0, 0, 0, first.no_params});
      totals = out.end() - 1;
      if (!first.identities.empty()) {
        // An identity "a = b" is shown as b, which is shorter.
        std::vector<std::string> terms;
        for (const Identity& identity : first.identities) {
          const auto equals = identity.formula.rfind(" = ");
          terms.push_back(equals == std::string::npos ? identity.formula : identity.formula.substr(equals + 3));
        }
        totals->how = join(terms, " + ");
      } else if (is_made_of_layers(part)) {
        const auto layers = std::count_if(first.params.begin(), first.params.end(),
                                          [](const Product& line) { return !line.shape.has_value(); });
        totals->how = layers == 1 ? "those of the layer in it" : fmt::format("those of the {} layers in it", layers);
        if (layers < static_cast<std::ptrdiff_t>(first.params.size())) totals->how += ", and its own";
      } else if (first.no_params.empty()) {
        std::vector<const Product*> lines;
        for (const Product& line : first.params) lines.push_back(&line);
        totals->how = short_sum(lines);
      }
    }
    ++totals->layers;
    totals->params += params_of(part, false);
    totals->flops += flops_of(part);
  }
  return out;
}

}  // namespace attn::keras
