#include "arguments/sampler_options.h"

#include <algorithm>
#include <vector>

#include "attn/base/error.h"
#include "attn/keras/families.h"

namespace attn::cli {
namespace {

using generate::SamplerKind;
using generate::SamplerOptions;

constexpr const char* kDrawing = "random, top_k or top_p";

}  // namespace

void SamplerWords::declare(Options& options) {
  options
      .add("--sampler", name_, "NAME",
           "sampling method (default top_k, or greedy for Gemma; --top-p, --num-beams and --penalty-alpha select "
           "theirs)")
      .one_of({"greedy", "random", "top_k", "top_p", "beam", "contrastive"});
  options.add("--top-k", top_k_, "K", "number of candidate tokens (default 5; all for top_p)");
  options.add("--top-p", top_p_, "P", "nucleus probability; selects --sampler top_p (default 0.1)").between(0.0, 1.0);
  options.add("--temperature", temperature_, "T", "sampling temperature; lower values are less random (default 1)");
  options.add("--num-beams", beams_, "N", "number of beams; selects --sampler beam (default 5)").above_zero();
  options.add("--penalty-alpha", alpha_, "A", "degeneration penalty; selects --sampler contrastive (default 0.6)")
      .between(0.0, 1.0);
  options.flag("--all-beams", all_beams_, "with --sampler beam: print every beam and its log-probability, best first");
  options.add("--seed", seed_, "SEED", "sampling seed; draws match those of KerasHub on TensorFlow");
}

void SamplerWords::check() const {
  if (temperature_ && !(*temperature_ >= generate::kLeastTemperature))
    throw bad_usage("--temperature {}: expected at least {}; use --sampler greedy for the most likely token{}",
                    *temperature_, generate::kLeastTemperature, *temperature_ == 0.0 ? ", as with 0" : "");
  if (top_k_ && *top_k_ <= 0)
    throw bad_usage("--top-k {}: expected a whole number above 0; use --sampler random to sample from all tokens",
                    *top_k_);
  if (!name_.empty()) return;
  std::vector<std::string> given;
  if (top_p_) given.emplace_back("--top-p");
  if (beams_) given.emplace_back("--num-beams");
  if (alpha_) given.emplace_back("--penalty-alpha");
  if (given.size() > 1)
    throw bad_usage("{} and {} select different samplers: give only one of them", given[0], given[1]);
}

std::optional<SamplerKind> SamplerWords::chosen() const {
  if (!name_.empty()) return generate::sampler_named(name_);
  if (top_p_) return SamplerKind::top_p;
  if (beams_) return SamplerKind::beam;
  if (alpha_) return SamplerKind::contrastive;
  if (top_k_) return SamplerKind::top_k;
  return std::nullopt;
}

void SamplerWords::expect_effect(SamplerKind kind) const {
  const auto expect = [&](bool given, const char* option, std::initializer_list<SamplerKind> kinds, const char* names) {
    if (given && std::find(kinds.begin(), kinds.end(), kind) == kinds.end())
      throw bad_usage("{} has no effect with {} sampling: use --sampler {}, or leave it out", option,
                      generate::name_of(kind), names);
  };
  using enum SamplerKind;
  expect(top_p_.has_value(), "--top-p", {top_p}, "top_p");
  expect(top_k_.has_value(), "--top-k", {top_k, top_p, contrastive}, "top_k, top_p or contrastive");
  expect(beams_.has_value(), "--num-beams", {beam}, "beam");
  expect(all_beams_, "--all-beams", {beam}, "beam");
  expect(alpha_.has_value(), "--penalty-alpha", {contrastive}, "contrastive");
  expect(temperature_ && *temperature_ != 1.0, "--temperature", {random, top_k, top_p, beam, contrastive}, kDrawing);
}

SamplerOptions SamplerWords::options_for(const keras::Model& model) const {
  SamplerOptions out;
  out.kind = chosen().value_or(*generate::sampler_named(keras::default_sampler(model.class_name())));
  expect_effect(out.kind);
  out.k = top_k_;
  out.seed = seed_;
  if (top_p_) out.p = *top_p_;
  if (temperature_) out.temperature = *temperature_;
  if (beams_) out.num_beams = *beams_;
  if (alpha_) out.alpha = *alpha_;
  return out;
}

}  // namespace attn::cli
