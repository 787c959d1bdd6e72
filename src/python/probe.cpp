#include "probe.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <limits>

#include "arrays.h"
#include "attn/base/error.h"
#include "attn/probe/ablate.h"
#include "attn/probe/attention.h"
#include "attn/probe/capture.h"
#include "attn/probe/compare.h"
#include "attn/probe/dla.h"
#include "attn/probe/lens.h"
#include "attn/probe/outliers.h"
#include "attn/probe/patch.h"
#include "attn/probe/saliency.h"
#include "attn/probe/steer.h"
#include "columns.h"
#include "engine.h"
#include "probe_words.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace attn::python {
namespace {

using Fields = nb::typed<nb::dict, nb::str, nb::any>;  // the fields of a dataclass
using Answers = nb::typed<nb::list, Fields>;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

nb::typed<nb::dict, nb::str, nb::str> points(Engine& engine) {
  nb::dict out;
  for (const auto& point :
       engine.probed([](const library::Probe& inside) { return library::listed_points(inside.subject()); }))
    out[point.name.c_str()] = point.shape;
  return out;
}

Fields lens(Engine& engine, const Words& prompt, const Maybe& decoder, bool mid, bool norm, std::int64_t top,
            const std::optional<Word>& token) {
  if (top < 1) throw bad_usage("top {}: expected 1 or more", top);
  const probe::Lens lens = engine.probed([&](const library::Probe& inside) {
    probe::LensOptions options{mid, norm, top, {}};
    if (token) options.target = token_of(inside, *token);
    return probe::lens(inside.subject(), prompt_of(inside, prompt, decoder), options);
  });
  const auto positions = std::ssize(lens.cells.front()), best = std::ssize(lens.cells.front().front().top);
  const Shape cells{std::ssize(lens.points), positions}, tops{cells[0], cells[1], best};
  Column ids{tops, {}}, log_probs{tops, {}}, entropy{cells, {}}, divergence{cells, {}}, target{{positions}, {}},
      target_log_prob{cells, {}}, target_rank{cells, {}};
  for (const auto& row : lens.cells)
    for (const probe::LensCell& cell : row) {
      for (const probe::TokenProbability& each : cell.top) {
        ids.values.push_back(each.token);
        log_probs.values.push_back(each.log_prob);
      }
      entropy.values.push_back(cell.entropy);
      divergence.values.push_back(cell.kl_to_final);
      if (std::ssize(target.values) < positions) target.values.push_back(cell.target ? cell.target->token : -1);
      target_log_prob.values.push_back(cell.target ? cell.target->log_prob : kNone);
      target_rank.values.push_back(cell.target ? static_cast<double>(cell.target->rank) : -1);
    }
  nb::dict out;
  out["points"] = lens.points;
  out["top_ids"] = ids.array(DType::int32);
  out["top_log_probs"] = log_probs.array();
  out["entropy"] = entropy.array();
  out["kl_to_final"] = divergence.array();
  out["target_ids"] = target.array(DType::int32);
  out["target_log_probs"] = target_log_prob.array();
  out["target_ranks"] = target_rank.array(DType::int64);
  return out;
}

void put_metric(nb::dict& out, const probe::Metric& metric) {
  out["token"] = metric.token;
  out["versus"] = metric.versus;
}

Fields dla(Engine& engine, const Words& prompt, const Maybe& decoder, const std::optional<Word>& token,
           const std::optional<Word>& versus) {
  const probe::Attribution result = engine.probed([&](const library::Probe& inside) {
    return probe::attribute(inside.subject(), prompt_of(inside, prompt, decoder), metric_of(inside, token, versus));
  });
  Columns parts;
  for (const probe::AttributedPart& part : result.parts)
    for (std::int64_t at = 0; at < std::ssize(part.values); ++at)
      parts.add(part.part, {part.head, at}, part.values[static_cast<std::size_t>(at)]);
  const Shape positions{std::ssize(result.sum)};
  nb::dict out;
  put_metric(out, result.metric);
  out["parts"] = parts.dict();
  out["sum"] = Column{positions, result.sum}.array();
  out["logit"] = Column{positions, result.logit}.array();
  out["after_cap"] = Column{positions, result.after_cap}.array();
  return out;
}

Fields ablate(Engine& engine, const Words& prompt, const Maybe& decoder, const std::vector<std::string>& parts,
              const std::string& how, const std::vector<Words>& reference, const std::optional<Word>& token,
              const std::optional<Word>& versus) {
  using probe::Ablation;
  probe::AblateOptions options;
  options.heads = options.mlp = options.attention = false;
  for (const std::string& part : parts)
    *choice<bool*>("parts", part, {{"heads", &options.heads}, {"attn", &options.attention}, {"mlp", &options.mlp}}) =
        true;
  options.with = choice<Ablation>("how", how,
                                  {{"zero", Ablation::zero},
                                   {"mean", Ablation::mean},
                                   {"mean_by_position", Ablation::mean_by_position},
                                   {"resample", Ablation::resample}});
  const probe::Ablated result = engine.probed([&](const library::Probe& inside) {
    options.reference = prompts_of(inside, reference, decoder);
    options.metric = metric_of(inside, token, versus);
    return probe::ablate(inside.subject(), prompt_of(inside, prompt, decoder), options);
  });
  Columns losses, divergences, metrics;
  for (const probe::AblatedPart& part : result.parts) {
    if (part.change.loss) losses.add(part.point, {part.head}, *part.change.loss);
    divergences.add(part.point, {part.head}, part.change.kl);
    metrics.add(part.point, {part.head}, part.change.metric);
  }
  nb::dict out;
  put_metric(out, result.metric);
  out["loss"] = result.baseline.loss;
  out["metric"] = result.baseline.metric;
  out["loss_changes"] = losses.dict();
  out["kl"] = divergences.dict();
  out["metric_changes"] = metrics.dict();
  return out;
}

Fields patch(Engine& engine, const Words& clean, const Words& corrupt, const Maybe& decoder, const std::string& points,
             const std::string& by, bool approximate, std::int64_t confirm, const std::optional<Word>& token,
             const std::optional<Word>& versus) {
  probe::PatchOptions options;
  options.points = points;
  options.heads = choice<probe::Places>(
      "by", by, {{"head", probe::Places::by_head}, {"head-position", probe::Places::by_head_and_position}});
  options.exact = !approximate;
  options.estimates = approximate;
  options.confirm = confirm;
  const probe::Patched result = engine.probed([&](const library::Probe& inside) {
    options.metric = metric_of(inside, token, versus);
    return probe::patch(inside.subject(), prompt_of(inside, clean, decoder), prompt_of(inside, corrupt, decoder),
                        options);
  });
  Columns values, estimates;
  for (const probe::PatchedPlace& place : result.places) {
    values.add(place.point, {place.head, place.position}, place.value.value_or(kNone));
    if (approximate) estimates.add(place.point, {place.head, place.position}, place.estimate.value_or(kNone));
  }
  nb::dict out;
  put_metric(out, result.metric);
  out["clean"] = result.clean;
  out["corrupt"] = result.corrupt;
  out["values"] = values.dict();
  out["estimates"] = estimates.dict();
  return out;
}

nb::any rollout(Engine& engine, const Words& prompt, const Maybe& decoder, const std::string& fuse) {
  const auto how = choice<probe::Fuse>(
      "fuse", fuse, {{"mean", probe::Fuse::mean}, {"max", probe::Fuse::max}, {"min", probe::Fuse::min}});
  const probe::Rollout result = engine.probed([&](const library::Probe& inside) {
    return probe::rollout(inside.subject(), prompt_of(inside, prompt, decoder), how);
  });
  const auto length = std::ssize(result.matrices.front());
  Column out{{std::ssize(result.matrices), length, length}, {}};
  for (const auto& matrix : result.matrices)
    for (const std::vector<double>& row : matrix) out.values.insert(out.values.end(), row.begin(), row.end());
  return nb::borrow<nb::any>(out.array());
}

Fields saliency(Engine& engine, const Words& prompt, const Maybe& decoder, const std::string& method,
                std::int64_t steps, const std::string& rule, const Word& baseline, const std::optional<Word>& token,
                const std::optional<Word>& versus) {
  using probe::SaliencyMethod, probe::StepRule;
  probe::SaliencyOptions options;
  options.method = choice<SaliencyMethod>("method", method,
                                          {{"gradient", SaliencyMethod::gradient},
                                           {"grad-x-input", SaliencyMethod::grad_x_input},
                                           {"integrated", SaliencyMethod::integrated}});
  options.rule = choice<StepRule>(
      "rule", rule, {{"midpoint", StepRule::midpoint}, {"gauss", StepRule::gauss}, {"trapezoid", StepRule::trapezoid}});
  if (steps < 2 || steps > 4096) throw bad_usage("steps {}: expected 2 to 4096", steps);
  options.steps = steps;
  const probe::Saliency result = engine.probed([&](const library::Probe& inside) {
    const auto* text = std::get_if<std::string>(&baseline);
    options.baseline = text == nullptr ? std::get<Id>(baseline) : inside.prompts().baseline(*text);
    options.metric = metric_of(inside, token, versus);
    return probe::saliency(inside.subject(), prompt_of(inside, prompt, decoder), options);
  });
  const auto column = [](const std::vector<probe::TokenSaliency>& tokens, double probe::TokenSaliency::*field) {
    Column out{{std::ssize(tokens)}, {}};
    for (const probe::TokenSaliency& each : tokens) out.values.push_back(each.*field);
    return out.array();
  };
  nb::dict out;
  put_metric(out, result.metric);
  out["score"] = result.score;
  out["values"] = column(result.tokens, &probe::TokenSaliency::value);
  out["norms"] = column(result.tokens, &probe::TokenSaliency::norm);
  out["encoder_values"] = column(result.encoder, &probe::TokenSaliency::value);
  out["encoder_norms"] = column(result.encoder, &probe::TokenSaliency::norm);
  out["gradient"] = array_of(result.gradient);
  out["baseline_score"] = result.baseline_score;
  out["gap"] = result.gap;
  return out;
}

Fields heads(Engine& engine, const Maybe& prompt, const Maybe& decoder, std::int64_t length, std::uint64_t seed) {
  probe::Prompt read;
  const std::vector<probe::HeadScores> result = engine.probed([&](const library::Probe& inside) {
    read = prompt ? prompt_of(inside, *prompt, decoder) : probe::repeated_prompt(inside.subject(), length, seed);
    return probe::head_scores(inside.subject(), read);
  });
  Shape shape{0, 0};
  for (const probe::HeadScores& head : result)
    shape = {std::max<Dim>(shape[0], head.layer + 1), std::max<Dim>(shape[1], head.head + 1)};
  const auto grid = [&](const auto& number_of) {
    Column out{shape, std::vector<double>(static_cast<std::size_t>(shape.size()), kNone)};
    for (const probe::HeadScores& head : result)
      out.values[static_cast<std::size_t>(head.layer * shape[1] + head.head)] = number_of(head);
    return out.array();
  };
  nb::dict out;
  out["ids"] = read.ids;
  out["previous"] = grid([](const auto& head) { return head.previous.mean; });
  out["duplicate"] = grid([](const auto& head) { return head.duplicate.mean; });
  out["induction"] = grid([](const auto& head) { return head.induction.mean; });
  out["previous_share"] = grid([](const auto& head) { return head.previous.share; });
  out["duplicate_share"] = grid([](const auto& head) { return head.duplicate.share; });
  out["induction_share"] = grid([](const auto& head) { return head.induction.share; });
  out["first"] = grid([](const auto& head) { return head.first; });
  return out;
}

Answers outliers(Engine& engine, const Words& prompt, const Maybe& decoder, double least, double ratio,
                 std::int64_t top) {
  if (top < 0) throw bad_usage("top {}: expected 0 or more", top);
  const auto result = engine.probed([&](const library::Probe& inside) {
    return probe::outliers(inside.subject(), prompt_of(inside, prompt, decoder), {least, ratio, top});
  });
  nb::list out;
  for (const probe::OutlierLayer& layer : result) {
    const Shape shape{std::ssize(layer.top)};
    Column values{shape, {}}, ratios{shape, {}}, positions{shape, {}}, dimensions{shape, {}};
    for (const probe::Outlier& each : layer.top) {
      values.values.push_back(each.value);
      ratios.values.push_back(each.ratio);
      positions.values.push_back(static_cast<double>(each.position));
      dimensions.values.push_back(static_cast<double>(each.dimension));
    }
    nb::dict one;
    one["layer"] = layer.layer;
    one["median"] = layer.median;
    one["count"] = layer.count;
    one["values"] = values.array();
    one["ratios"] = ratios.array();
    one["positions"] = positions.array(DType::int64);
    one["dimensions"] = dimensions.array(DType::int64);
    out.append(one);
  }
  return out;
}

Answers compare(Engine& engine, Engine& other, const std::vector<Words>& prompts, const Maybe& decoder,
                const std::string& points) {
  const auto result = engine.probed(other, [&](const library::Probe& a, const library::Probe& b) {
    return probe::compare(a.subject(), b.subject(), prompts_of(a, prompts, decoder), points);
  });
  nb::list out;
  for (const probe::ComparedPoint& point : result) {
    nb::dict one;
    one["a"] = point.a;
    one["b"] = point.b;
    one["max_abs"] = point.max_abs;
    one["relative"] = point.relative;
    one["cosine"] = point.cosine;
    one["cka"] = point.cka;
    out.append(one);
  }
  return out;
}

nb::any steer(Engine& engine, const std::vector<Words>& positive, const std::vector<Words>& negative,
              const Maybe& decoder, const std::string& point, const std::string& at) {
  const auto where = choice<probe::SteerAt>("at", at, {{"last", probe::SteerAt::last}, {"mean", probe::SteerAt::mean}});
  if (positive.empty() || negative.empty()) throw bad_usage("steer needs positive and negative prompts");
  return nb::borrow<nb::any>(array_of(engine.probed([&](const library::Probe& inside) {
    return probe::steering_vector(inside.subject(), prompts_of(inside, positive, decoder),
                                  prompts_of(inside, negative, decoder), point, where);
  })));
}

Fields capture(Engine& engine, const std::vector<Words>& prompts, const Maybe& decoder, const std::string& points) {
  if (prompts.empty()) throw bad_usage("there is no prompt");
  nb::dict out;
  for (const NamedTensor& array : engine.probed([&](const library::Probe& inside) {
         return probe::captured(inside.subject(), prompts_of(inside, prompts, decoder), points);
       }))
    out[array.name.c_str()] = array_of(array.tensor);
  return out;
}

}  // namespace

void bind_probe(nb::module_& m) {
  m.def("points", &points, "engine"_a);
  m.def("lens", &lens, "engine"_a, "prompt"_a, "decoder"_a.none(), "mid"_a, "norm"_a, "top"_a, "token"_a.none());
  m.def("dla", &dla, "engine"_a, "prompt"_a, "decoder"_a.none(), "token"_a.none(), "versus"_a.none());
  m.def("ablate", &ablate, "engine"_a, "prompt"_a, "decoder"_a.none(), "parts"_a, "how"_a, "reference"_a,
        "token"_a.none(), "versus"_a.none());
  m.def("patch", &patch, "engine"_a, "clean"_a, "corrupt"_a, "decoder"_a.none(), "points"_a, "by"_a, "approximate"_a,
        "confirm"_a, "token"_a.none(), "versus"_a.none());
  m.def("rollout", &rollout, "engine"_a, "prompt"_a, "decoder"_a.none(), "fuse"_a);
  m.def("saliency", &saliency, "engine"_a, "prompt"_a, "decoder"_a.none(), "method"_a, "steps"_a, "rule"_a,
        "baseline"_a, "token"_a.none(), "versus"_a.none());
  m.def("heads", &heads, "engine"_a, "prompt"_a.none(), "decoder"_a.none(), "length"_a, "seed"_a);
  m.def("outliers", &outliers, "engine"_a, "prompt"_a, "decoder"_a.none(), "least"_a, "ratio"_a, "top"_a);
  m.def("compare", &compare, "engine"_a, "other"_a, "prompts"_a, "decoder"_a.none(), "points"_a);
  m.def("steer", &steer, "engine"_a, "positive"_a, "negative"_a, "decoder"_a.none(), "point"_a, "at"_a);
  m.def("capture", &capture, "engine"_a, "prompts"_a, "decoder"_a.none(), "points"_a);
}

}  // namespace attn::python
