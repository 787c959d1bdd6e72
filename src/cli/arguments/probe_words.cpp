#include "arguments/probe_words.h"

#include <algorithm>

#include "attn/base/error.h"
#include "attn/base/text.h"

namespace attn::cli {

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
  options.add("--sink", sink, "SHARE", "heads, scan: attention to the first token of a sink (default 0.3)")
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

}  // namespace attn::cli
