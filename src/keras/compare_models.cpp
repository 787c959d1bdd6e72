#include "attn/keras/compare_models.h"

#include "analysis/comparison.h"
#include "attn/base/error.h"
#include "attn/keras/json_text.h"

namespace attn::keras {
namespace {

std::optional<Summary> summary_of(const Model& model) {
  try {
    return model.summary();
  } catch (const Error& error) {
    if (error.code() != ExitCode::bad_input) throw;
    return std::nullopt;  // a layer that was never built
  }
}

}  // namespace

ModelComparison compare_models(const Model& a, const Model& b) {
  ModelComparison out;
  out.config =
      compare_configs(parse_json_text(a.config({}), "config.json"), parse_json_text(b.config({}), "config.json"));
  out.a = summary_of(a);
  out.b = summary_of(b);
  if (out.a && out.b) out.layers = compare_summaries(*out.a, *out.b);
  return out;
}

}  // namespace attn::keras
