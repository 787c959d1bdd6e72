#include "arguments/probe_words.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "arguments/texts.h"
#include "attn/base/error.h"
#include "attn/base/text.h"

namespace attn::cli {

using probe::Id;
using probe::Prompt;

void ProbeWords::declare(Options& options) {
  options.output("-o,--output", target, "FILE",
                 "write the result to this file; arrays of capture and steer to .npz or .safetensors");
  options
      .add("operation", operation, "OPERATION",
           "scan, lens, dla, ablate, patch, rollout, saliency, steer, heads, outliers, compare or capture")
      .required();
  options.add("model", model, "MODEL", "preset folder, .keras, Hugging Face folder or other model of token ids");
  options.add("other", other, "OTHER", "compare: the other model");
  options.flag("--list", list, "list the points of the model: attn probe MODEL --list");
  words.declare(options);
  options.group(OptionGroup::input);
  options.flag("--no-start-token", no_start_token, "omit the special tokens around the prompt");
  options.flag("--no-special", no_special, "treat special tokens in the prompt as plain text");
  options.group(OptionGroup::main);
  options.add("--scale", scalings, "P=F", "multiply a point by a factor in every pass: mlp_out.0=0.5; repeatable")
      .repeatable();
  options.add("--points", points, "P,…", "capture, patch, compare: points, as resid_post or z.3");
  options.add("--token", token, "TOKEN", "token or class to follow: a text or #ID (default the best one)");
  options.add("--versus", versus, "TOKEN", "token or class whose logit is subtracted: a text or #ID");
  options.flag("--mid", mid, "lens: also show the stream after each attention");
  options.flag("--no-norm", no_norm, "lens: omit the final norm");
  options.add("--top", top, "N", "lens, outliers: number of rows (default 5 tokens, 10 activations)").above_zero();
  options.add("--position", position, "N", "dla: position, from the end if negative (default -1)");
  options.add("--parts", parts, "P,…", "ablate: heads, attn, mlp (default heads,mlp)");
  options.add("--with", with, "HOW", "ablate: value in place of a part (default zero)")
      .one_of({"zero", "mean", "resample"});
  options.add("--reference", reference, "FILE", "ablate: prompts for mean or resample; a line #1,2 gives ids");
  options.flag("--by-position", by_position, "ablate: with mean, a mean for each position of the reference");
  options.add("--clean", clean, "TEXT", "patch: prompt whose values are taken; #1,2 gives ids");
  options.add("--corrupt", corrupt, "TEXT", "patch: prompt that runs with them; #1,2 gives ids");
  options.add("--by", by, "HOW", "patch: places of z (default head)")
      .one_of({"head", "head-position"})
      .without_variable();
  options.flag("--approximate", approximate, "patch: estimate all changes by one gradient");
  options.add("--confirm", confirm, "N", "patch: with --approximate, run the N largest changes exactly").above_zero();
  options.flag("--reverse", reverse, "patch: exchange the two prompts");
  options.add("--fuse", fuse, "HOW", "rollout: function that joins heads (default mean)")
      .one_of({"mean", "max", "min"});
  options.add("--layer", layer, "N", "rollout, steer: layer, from the end if negative (default -1)").without_variable();
  options.add("--method", method, "HOW", "saliency: method (default grad-x-input)")
      .one_of({"gradient", "grad-x-input", "integrated"});
  options.add("--steps", steps, "N", "saliency: steps of integrated gradients (default 32)")
      .between(2, 4096)
      .without_variable();
  options.add("--rule", rule, "HOW", "saliency: rule of integration (default midpoint)")
      .one_of({"midpoint", "gauss", "trapezoid"});
  options.add("--baseline", baseline, "TOKEN", "saliency: pad, zero, a text or #ID (default pad)").without_variable();
  options.add("--positive", positive, "FILE", "steer: prompts that have the property; a line #1,2 gives ids");
  options.add("--negative", negative, "FILE", "steer: prompts that lack it; a line #1,2 gives ids");
  options.add("--at", at, "HOW", "steer: positions that are averaged (default last)").one_of({"last", "mean"});
  options.add("--length", length, "N", "heads, scan: length of the sequence that is repeated (default 50)")
      .above_zero()
      .without_variable();
  options.add("--sink", sink, "SHARE", "heads, scan: share of a sink's attention on the first token (default 0.3)")
      .not_negative();
  options.add("--min", least, "R", "outliers: least magnitude of a massive activation (default 100)").not_negative();
  options.add("--ratio", ratio, "R", "outliers: least ratio to the median (default 1000)").not_negative();
}

void ProbeWords::refuse_others() const {
  struct Use {
    const char* option;
    bool given;
    std::vector<std::string_view> operations;
  };
  const std::vector<Use> uses = {{"OTHER", other.has_value(), {"compare"}},
                                 {"--points", points.has_value(), {"capture", "patch", "compare"}},
                                 {"--token", token.has_value(), {"lens", "dla", "ablate", "patch", "saliency"}},
                                 {"--versus", versus.has_value(), {"dla", "ablate", "patch", "saliency"}},
                                 {"--mid", mid, {"lens"}},
                                 {"--no-norm", no_norm, {"lens"}},
                                 {"--top", top.has_value(), {"lens", "outliers"}},
                                 {"--position", position.has_value(), {"dla"}},
                                 {"--parts", parts.has_value(), {"ablate"}},
                                 {"--with", with.has_value(), {"ablate"}},
                                 {"--reference", reference.has_value(), {"ablate"}},
                                 {"--by-position", by_position, {"ablate"}},
                                 {"--clean", clean.has_value(), {"patch"}},
                                 {"--corrupt", corrupt.has_value(), {"patch"}},
                                 {"--by", by.has_value(), {"patch"}},
                                 {"--approximate", approximate, {"patch"}},
                                 {"--confirm", confirm.has_value(), {"patch"}},
                                 {"--reverse", reverse, {"patch"}},
                                 {"--fuse", fuse.has_value(), {"rollout"}},
                                 {"--layer", layer.has_value(), {"rollout", "steer"}},
                                 {"--method", method.has_value(), {"saliency"}},
                                 {"--steps", steps.has_value(), {"saliency"}},
                                 {"--rule", rule.has_value(), {"saliency"}},
                                 {"--baseline", baseline.has_value(), {"saliency"}},
                                 {"--positive", positive.has_value(), {"steer"}},
                                 {"--negative", negative.has_value(), {"steer"}},
                                 {"--at", at.has_value(), {"steer"}},
                                 {"--length", length.has_value(), {"heads", "scan"}},
                                 {"--sink", sink.has_value(), {"heads", "scan"}},
                                 {"--min", least.has_value(), {"outliers"}},
                                 {"--ratio", ratio.has_value(), {"outliers"}}};
  for (const Use& use : uses) {
    if (!use.given || std::ranges::find(use.operations, operation) != use.operations.end()) continue;
    std::vector<std::string> names(use.operations.begin(), use.operations.end());
    throw bad_usage("{} has no effect on {}; it belongs to {}", use.option, operation, join(names, ", "));
  }
}

std::vector<Prompt> ProbeWords::read_prompts(const library::ProbePrompts& prompts) const {
  const auto nth = [](const std::vector<std::string>& all, std::size_t i) {
    return all.empty() ? "" : all[std::min(i, all.size() - 1)];
  };
  std::vector<Prompt> out;
  if (!words.ids.empty() && (!words.texts.empty() || words.file)) throw bad_usage("give either texts or --ids");
  if (prompts.has_encoder() && !words.ids.empty() && words.decoder_ids.empty())
    throw bad_usage("--ids of an encoder-decoder model requires --decoder-ids, the start of its output");
  for (std::size_t i = 0; i < words.ids.size(); ++i) {
    std::vector<Id> ids = parse_ids("--ids", words.ids[i]), decoder;
    if (prompts.has_encoder()) decoder = parse_ids("--decoder-ids", nth(words.decoder_ids, i));
    out.push_back(prompts.has_encoder() ? prompts.from_ids(std::move(decoder), std::move(ids))
                                        : prompts.from_ids(std::move(ids)));
  }
  if (!words.ids.empty()) return out;
  const std::vector<std::string> texts = read_texts(words);
  for (std::size_t i = 0; i < texts.size(); ++i)
    out.push_back(prompts.from_text(texts[i], nth(words.decoder_texts, i)));
  return out;
}

std::optional<probe::Metric> ProbeWords::metric(const library::ProbePrompts& prompts) const {
  if (!token && versus) throw bad_usage("--versus requires --token");
  if (!token) return std::nullopt;
  probe::Metric out{prompts.output(*token), {}};
  if (versus) out.versus = prompts.output(*versus);
  return out;
}

std::vector<probe::Scaling> ProbeWords::given_scalings() const {
  std::vector<probe::Scaling> out;
  for (const std::string& text : scalings) {
    const std::vector<std::string> sides = split(text, '=');
    char* end = nullptr;
    const double factor = sides.size() == 2 ? std::strtod(sides[1].c_str(), &end) : 0.0;
    if (sides.size() != 2 || end == sides[1].c_str() || *end != '\0' || !std::isfinite(factor))
      throw bad_usage("--scale {}: expected a point and a finite factor, as mlp_out.0=0.5", printable(text));
    out.push_back({sides[0], factor});
  }
  return out;
}

Prompt read_prompt(const library::ProbePrompts& prompts, const std::string& text) {
  if (!text.starts_with('#')) return prompts.from_text(text);
  if (prompts.has_encoder())
    throw bad_usage("'{}': here an encoder-decoder model takes texts, not ids", printable(text));
  return prompts.from_ids(parse_ids("ids", text.substr(1)));
}

std::vector<Prompt> read_prompt_file(const library::ProbePrompts& prompts, const std::string& path) {
  std::vector<Prompt> out;
  for (const std::string& text : read_texts_file(path)) out.push_back(read_prompt(prompts, text));
  if (out.empty()) throw bad_input("{}: the file contains no texts", printable(path));
  return out;
}

}  // namespace attn::cli
