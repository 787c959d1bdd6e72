#include "attn/probe/dla.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "attn/base/error.h"
#include "attn/open/session.h"
#include "attn/probe/edits.h"
#include "data_flow.h"

namespace attn::probe {
namespace {

using graph::kNone;
using graph::Node;
using graph::ValueId;

/// A norm between two values of a graph, with its input and output.
struct Norm {
  const Node* node = nullptr;
  ValueId input = kNone, output = kNone;

  [[nodiscard]] const graph::LayerNorm& op() const { return std::get<graph::LayerNorm>(node->op); }
};

/// Follows a value back through operations with one computed operand to a norm; no node if there is none before `stop`.
Norm norm_before(const DataFlow& flow, ValueId value, ValueId stop) {
  while (value != stop) {
    const Node* node = flow.producer(value);
    if (node == nullptr) break;
    if (is_any_of<graph::LayerNorm>(*node)) return {node, node->inputs[0], node->outputs[0]};
    value = flow.only_varying_input(*node);
    if (value == kNone) break;
  }
  return {};
}

/// Returns the value of the unembedding's product, with a bias that is added to it.
ValueId before_cap(const DataFlow& flow, ValueId final_norm) {
  ValueId value = final_norm;
  while (const Node* node = flow.first_reader(value)) {
    if (value != final_norm && !is_addition(*node) && !is_any_of<graph::Cast, graph::Reshape>(*node)) break;
    value = node->outputs[0];
  }
  return value;
}

/// The statistics of a norm at each position, and the factors of its dimensions.
class Scale {
 public:
  Scale(const Norm& norm, const Tensor& stream, const Tensor* gamma) : kind_(norm.op().kind) {
    const std::int64_t width = stream.shape().back();
    factors_.assign(static_cast<std::size_t>(width), 1.0);
    if (gamma != nullptr)
      for (std::int64_t i = 0; i < width; ++i) factors_[static_cast<std::size_t>(i)] = gamma->at(i);
    for (std::int64_t t = 0; t < stream.size() / width; ++t) {
      double mean = 0, squares = 0, variance = 0;
      for (std::int64_t i = 0; i < width; ++i) {
        const double x = stream.at(t * width + i);
        mean += x / static_cast<double>(width);
        squares += x * x / static_cast<double>(width);
      }
      for (std::int64_t i = 0; i < width; ++i)
        variance += std::pow(stream.at(t * width + i) - mean, 2.0) / static_cast<double>(width);
      const double spread = kind_ == graph::NormKind::rms ? squares : variance;
      inverse_.push_back(1.0 / std::sqrt(spread + norm.op().epsilon));
    }
  }

  /// Returns the direction in the norm's input whose product with a part, times inverse(t), is the product of
  /// `direction` with the normalized part.
  [[nodiscard]] std::vector<double> before(const std::vector<double>& direction) const {
    std::vector<double> out(direction.size());
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = factors_[i] * direction[i];
    if (kind_ != graph::NormKind::layer) return out;
    const double mean = std::accumulate(out.begin(), out.end(), 0.0) / static_cast<double>(out.size());
    for (double& value : out) value -= mean;
    return out;
  }
  [[nodiscard]] double inverse(std::int64_t position) const { return inverse_[static_cast<std::size_t>(position)]; }

 private:
  graph::NormKind kind_;
  std::vector<double> factors_, inverse_;
};

double dot(const std::vector<double>& direction, const Tensor& array, std::int64_t first) {
  double sum = 0;
  for (std::size_t i = 0; i < direction.size(); ++i)
    sum += direction[i] * array.at(first + static_cast<std::int64_t>(i));
  return sum;
}

/// Attributes one prompt.
class Attributing {
 public:
  Attributing(const Subject& subject, const Prompt& prompt)
      : subject_(subject), prompt_(prompt), lowered_(subject.lower(1, prompt)), flow_(lowered_.graph) {
    subject.require_logits(lowered_);
    blocks_ = lowered_.points.last_stack();
    stream_ = blocks_.back()->resid_post;
    if (std::ranges::any_of(blocks_, [](const Block* block) { return block->post_norm; }))
      refuse("normalizes the stream after each addition");
    const auto shape = [&](ValueId id) { return lowered_.graph.value(id).shape; };
    if (std::ranges::any_of(blocks_, [&](const Block* block) { return shape(block->resid_pre) != shape(stream_); }))
      refuse("has streams of several shapes");
    if (lowered_.points.final_norm == kNone) refuse("has no unembedding for every position");
    final_ = norm_before(flow_, lowered_.points.final_norm, stream_);
    if (final_.node == nullptr || flow_.without_casts(final_.input) != flow_.without_casts(stream_))
      refuse("does not have a single norm between its last block and the unembedding");
    uncapped_ = before_cap(flow_, lowered_.points.final_norm);
  }

  [[nodiscard]] Attribution run(const std::optional<Metric>& metric) {
    run_pass();
    const Tensor& logits = value(lowered_.points.logits);
    out_.metric = metric_or_best(metric, logits);
    const auto difference = [&](const Tensor& array, std::int64_t row) {
      const std::int64_t first = row * array.shape().back();
      return array.at(first + out_.metric.token) - (out_.metric.versus ? array.at(first + *out_.metric.versus) : 0.0);
    };
    // The unembedding of unit vectors at the norm's output, and of 0.
    const auto unembedded = responses(final_.output, uncapped_, difference);
    const std::vector<double> direction(unembedded.begin(), unembedded.end() - 1);
    scale_.emplace(final_, value(stream_), gamma_of(final_));
    before_ = scale_->before(direction);
    add_embeddings();
    for (const Block* block : blocks_) {
      for (const auto& [prefix, attention] : block->attentions()) add_heads(*block, prefix, *attention);
      if (block->mlp_out == kNone) continue;
      const Tensor& mlp = value(block->mlp_out);
      add(fmt::format("mlp_out.{}", block->layer), block->layer, {},
          [&](std::int64_t t) { return dot(before_, mlp, t * mlp.shape().back()) * scale_->inverse(t); });
    }
    const std::size_t beta = final_.op().scale ? 2 : 1;
    const double bias = final_.op().center ? dot(direction, value(final_.node->inputs[beta]), 0) : 0.0;
    add("norm_bias", {}, {}, [&](std::int64_t) { return bias; });
    if (unembedded.back() != 0.0) add("unembed_bias", {}, {}, [&](std::int64_t) { return unembedded.back(); });
    for (std::int64_t t = 0; t < lowered_.length; ++t) {
      double sum = 0;
      for (const AttributedPart& part : out_.parts) sum += part.values[static_cast<std::size_t>(t)];
      out_.sum.push_back(sum);
      out_.logit.push_back(difference(value(uncapped_), t));
      out_.after_cap.push_back(difference(logits, t));
    }
    return std::move(out_);
  }

 private:
  [[noreturn]] void refuse(const char* why) const {
    throw bad_input("{}: a {} {}, so parts do not add up to its logits; use ablate or patch", subject_.loaded().file,
                    subject_.loaded().model.class_name(), why);
  }

  /// Adds a part whose value at each position `value_at` returns.
  template <typename ValueAt>
  void add(std::string part, std::optional<int> layer, std::optional<int> head, ValueAt value_at) {
    AttributedPart attributed{std::move(part), layer, head, {}};
    for (std::int64_t t = 0; t < lowered_.length; ++t) attributed.values.push_back(value_at(t));
    out_.parts.push_back(std::move(attributed));
  }

  /// Returns the norm behind the output projection of an attention; no node if there is none.
  [[nodiscard]] Norm norm_behind(const AttentionPart& attention) const {
    return norm_before(flow_, attention.out, attention.z);
  }

  void run_pass() {
    std::vector<ValueId> ids = {stream_, uncapped_, lowered_.points.logits, blocks_.front()->resid_pre};
    const auto add_norm = [&](const Norm& norm) {
      if (norm.node == nullptr) return;
      ids.push_back(norm.input);
      for (std::size_t i = 1; i < norm.node->inputs.size(); ++i) ids.push_back(norm.node->inputs[i]);
    };
    add_norm(final_);
    for (const Block* block : blocks_) {
      for (const auto& [prefix, attention] : block->attentions()) {
        ids.push_back(attention->z);
        add_norm(norm_behind(*attention));
      }
      if (block->mlp_out != kNone) ids.push_back(block->mlp_out);
    }
    embedded_ = embedding();
    if (embedded_ != kNone) ids.push_back(embedded_);
    std::ranges::sort(ids);
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    values_ = subject_.run(lowered_, prompt_, ids);
  }

  [[nodiscard]] const Tensor& value(ValueId id) const { return values_.at(id); }
  [[nodiscard]] const Tensor* gamma_of(const Norm& norm) const {
    return norm.op().scale ? &value(norm.node->inputs[1]) : nullptr;
  }

  /// Returns `number` of the result at `to` for each unit vector at `from`, and last for 0. Everything between is an
  /// affine map of each position, so unit vectors fill the positions of a batch.
  template <typename Number>
  [[nodiscard]] std::vector<double> responses(ValueId from, ValueId to, Number number) const {
    std::int64_t width = 1;
    const Shape own = lowered_.graph.value(from).shape;
    for (int axis = 2; axis < own.rank(); ++axis) width *= own[axis];
    const std::int64_t positions = own[1], count = width + 1;
    const std::int64_t each = std::max<std::int64_t>(lowered_.graph.value(to).shape.size() * 4, 1);
    const std::int64_t most = std::max<std::int64_t>((std::int64_t{64} << 20) / each, 1);
    const std::int64_t rows = std::min((count + positions - 1) / positions, most);
    graph::Graph graph = subject_.lower(rows, prompt_).graph;
    graph.outputs.clear();
    graph = replace(capture(std::move(graph), to, ""), from);
    std::vector<Tensor> arrays = subject_.inputs(graph, std::vector<Prompt>(static_cast<std::size_t>(rows), prompt_));
    const auto session = subject_.compile(std::move(graph));
    std::vector<double> out;
    for (std::int64_t first = 0; first < count; first += rows * positions) {
      const Tensor units(arrays.back().dtype(), arrays.back().shape());
      const std::int64_t filled = std::min(rows * positions, count - first);
      for (std::int64_t i = 0; i < filled && first + i < width; ++i) units.set(i * width + first + i, 1.0);
      arrays.back() = units;
      session->run(arrays);
      const Tensor result = session->outputs().front().tensor;
      for (std::int64_t i = 0; i < filled; ++i) out.push_back(number(result, i));
    }
    const double constant = out.back();
    for (std::size_t i = 0; i + 1 < out.size(); ++i) out[i] -= constant;
    return out;
  }

  /// Returns the scaled rows of the token table as they are added to the stream; kNone if they are all of it.
  [[nodiscard]] ValueId embedding() const {
    ValueId value = lowered_.points.embed;
    const ValueId begin = blocks_.front()->resid_pre;
    ValueId summand = kNone;
    while (value != kNone && value != begin) {
      const Node* node = flow_.first_reader(value);
      if (node == nullptr) return kNone;
      if (is_addition(*node) && summand == kNone) summand = value;
      if (!is_addition(*node) && !is_any_of<graph::Cast>(*node) && summand != kNone) return kNone;
      value = node->outputs[0];
    }
    return summand;
  }

  void add_embeddings() {
    const Tensor& begin = value(blocks_.front()->resid_pre);
    const Tensor& own = embedded_ == kNone ? begin : value(embedded_);
    const std::int64_t width = begin.shape().back();
    add("embed", {}, {}, [&](std::int64_t t) { return dot(before_, own, t * width) * scale_->inverse(t); });
    if (embedded_ == kNone) return;
    add("pos_embed", {}, {}, [&](std::int64_t t) {
      return (dot(before_, begin, t * width) - dot(before_, own, t * width)) * scale_->inverse(t);
    });
  }

  void add_heads(const Block& block, const std::string& prefix, const AttentionPart& attention) {
    const Norm norm = norm_behind(attention);
    const ValueId raw = norm.node == nullptr ? attention.out : norm.input;
    std::optional<Scale> post;
    std::vector<double> direction = before_;
    if (norm.node != nullptr) {
      post.emplace(norm, value(norm.input), gamma_of(norm));
      direction = post->before(before_);
    }
    const auto factor = [&](std::int64_t t) { return scale_->inverse(t) * (post ? post->inverse(t) : 1.0); };
    const std::vector<double> units = responses(attention.z, raw, [&](const Tensor& result, std::int64_t row) {
      return dot(direction, result, row * std::ssize(direction));
    });
    const Tensor& z = value(attention.z);
    const std::int64_t heads = z.shape()[2], size = z.shape()[3];
    for (std::int64_t head = 0; head < heads; ++head)
      add(fmt::format("{}z.{}", prefix, block.layer), block.layer, static_cast<int>(head), [&](std::int64_t t) {
        double sum = 0;
        for (std::int64_t i = head * size; i < (head + 1) * size; ++i)
          sum += units[static_cast<std::size_t>(i)] * z.at(t * heads * size + i);
        return sum * factor(t);
      });
    add(fmt::format("{}attn_bias.{}", prefix, block.layer), block.layer, {},
        [&](std::int64_t t) { return units.back() * factor(t); });
  }

  const Subject& subject_;
  const Prompt& prompt_;
  Lowered lowered_;
  DataFlow flow_;
  std::vector<const Block*> blocks_;
  ValueId stream_ = kNone, uncapped_ = kNone, embedded_ = kNone;
  Norm final_;
  Values values_;
  std::optional<Scale> scale_;  // statistics of the final norm
  std::vector<double> before_;  // the direction of the metric before the final norm
  Attribution out_;
};

}  // namespace

Attribution attribute(const Subject& subject, const Prompt& prompt, const std::optional<Metric>& metric) {
  return Attributing(subject, prompt).run(metric);
}

}  // namespace attn::probe
