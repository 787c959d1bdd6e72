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
  using Names = std::vector<std::string>;
  const auto limit = [&](const Names& operations, const char* option, const auto& value) {
    limits_.push_back({option, operations, [&value] { return static_cast<bool>(value); }});
  };
  // These options belong to some operations, with which their help begins.
  const auto add = [&](const Names& operations, const char* option, auto& value, const char* kind, const char* help) {
    limit(operations, option, value);
    return options.add(option, value, kind, join(operations, ", ") + ": " + help);
  };
  const auto flag = [&](const Names& operations, const char* option, bool& value, const char* help) {
    limit(operations, option, value);
    options.flag(option, value, join(operations, ", ") + ": " + help);
  };
  options.output("-o,--output", target, "FILE",
                 "write the result to this file; arrays of capture and steer to .npz or .safetensors");
  options
      .add("operation", operation, "OPERATION",
           "scan, lens, dla, ablate, patch, rollout, saliency, steer, heads, outliers, compare or capture")
      .required();
  options.add("model", model, "MODEL", "preset folder, .keras, Hugging Face folder or other model of token ids");
  options.add("other", other, "OTHER", "compare: the other model");
  limit({"compare"}, "OTHER", other);
  options.flag("--list", list, "list the points of the model: attn probe MODEL --list");
  words.declare(options);
  options.group(OptionGroup::input);
  options.flag("--no-start-token", no_start_token, "omit the special tokens around the prompt");
  options.flag("--no-special", no_special, "treat special tokens in the prompt as plain text");
  options.group(OptionGroup::main);
  options.add("--scale", scalings, "P=F", "multiply a point by a factor in every pass: mlp_out.0=0.5; repeatable")
      .repeatable();
  add({"capture", "patch", "compare"}, "--points", points, "P,…", "points, as resid_post or z.3");
  options.add("--token", token, "TOKEN", "token or class to follow: a text or #ID (default the best one)");
  limit({"lens", "dla", "ablate", "patch", "saliency"}, "--token", token);
  options.add("--versus", versus, "TOKEN", "token or class whose logit is subtracted: a text or #ID");
  limit({"dla", "ablate", "patch", "saliency"}, "--versus", versus);
  flag({"lens"}, "--mid", mid, "also show the stream after each attention");
  flag({"lens"}, "--no-norm", no_norm, "omit the final norm");
  add({"lens", "outliers"}, "--top", top, "N", "number of rows (default 5 tokens, 10 activations)").above_zero();
  add({"dla"}, "--position", position, "N", "position, from the end if negative (default -1)");
  add({"ablate"}, "--parts", parts, "P,…", "heads, attn, mlp (default heads,mlp)");
  add({"ablate"}, "--with", with, "HOW", "value in place of a part (default zero)")
      .one_of({"zero", "mean", "resample"});
  add({"ablate"}, "--reference", reference, "FILE", "prompts for mean or resample; a line #1,2 gives ids");
  flag({"ablate"}, "--by-position", by_position, "with mean, a mean for each position of the reference");
  add({"patch"}, "--clean", clean, "TEXT", "prompt whose values are taken; #1,2 gives ids");
  add({"patch"}, "--corrupt", corrupt, "TEXT", "prompt that runs with them; #1,2 gives ids");
  add({"patch"}, "--by", by, "HOW", "places of z (default head)").one_of({"head", "head-position"}).without_variable();
  flag({"patch"}, "--approximate", approximate, "estimate all changes by one gradient");
  add({"patch"}, "--confirm", confirm, "N", "with --approximate, run the N largest changes exactly").above_zero();
  flag({"patch"}, "--reverse", reverse, "exchange the two prompts");
  add({"rollout"}, "--fuse", fuse, "HOW", "function that joins heads (default mean)").one_of({"mean", "max", "min"});
  add({"rollout", "steer"}, "--layer", layer, "N", "layer, from the end if negative (default -1)").without_variable();
  add({"saliency"}, "--method", method, "HOW", "method (default grad-x-input)")
      .one_of({"gradient", "grad-x-input", "integrated"});
  add({"saliency"}, "--steps", steps, "N", "steps of integrated gradients (default 32)")
      .between(2, 4096)
      .without_variable();
  add({"saliency"}, "--rule", rule, "HOW", "rule of integration (default midpoint)")
      .one_of({"midpoint", "gauss", "trapezoid"});
  add({"saliency"}, "--baseline", baseline, "TOKEN", "pad, zero, a text or #ID (default pad)").without_variable();
  add({"steer"}, "--positive", positive, "FILE", "prompts that have the property; a line #1,2 gives ids");
  add({"steer"}, "--negative", negative, "FILE", "prompts that lack it; a line #1,2 gives ids");
  add({"steer"}, "--at", at, "HOW", "positions that are averaged (default last)").one_of({"last", "mean"});
  add({"heads", "scan"}, "--length", length, "N", "length of the sequence that is repeated (default 50)")
      .above_zero()
      .without_variable();
  add({"heads", "scan"}, "--sink", sink, "SHARE", "share of a sink's attention on the first token (default 0.3)")
      .not_negative();
  add({"outliers"}, "--min", least, "R", "least magnitude of a massive activation (default 100)").not_negative();
  add({"outliers"}, "--ratio", ratio, "R", "least ratio to the median (default 1000)").not_negative();
}

void ProbeWords::refuse_others() const {
  for (const Limit& limit : limits_)
    if (limit.is_given() && std::ranges::find(limit.operations, operation) == limit.operations.end())
      throw bad_usage("{} has no effect on {}; it belongs to {}", limit.option, operation,
                      join(limit.operations, ", "));
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
