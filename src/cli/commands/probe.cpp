#include "attn/library/probe.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "arguments/probe_words.h"
#include "arguments/shared_options.h"
#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/io/tensor_file.h"
#include "attn/library/setting.h"
#include "attn/open/session.h"
#include "attn/probe/capture.h"
#include "attn/probe/steer.h"
#include "attn/report/probe_view.h"
#include "options/command.h"
#include "output/common.h"
#include "output/provenance.h"

namespace attn::cli {
namespace {

using probe::Prompt;
using report::ProbeFindings;

struct ProbeCommand : ProbeWords {
  Common common;
  open::Execution execution;

  void declare(Options& options) {
    add_common(options, common, {Format::table, Format::json, Format::csv, Format::html, Format::svg, Format::png},
               false);
    ProbeWords::declare(options);
    add_device(options, execution.device);
    add_backend(options, execution.backend);
    add_dtype_of_weights(options, execution.dtype);
    add_threads(options, execution.threads);
    add_weights(options, execution.weights);
    add_seed(options, execution.seed);
    add_memory_limit(options, execution.memory_limit);
    add_matmul_precision(options, execution.precision);
    add_compat(options, execution.as_keras_hub);
  }

  [[nodiscard]] int run() {
    if (list && !model) model = std::exchange(operation, "capture");
    const Operation& chosen = operation_named();
    if (!model) throw bad_usage("attn probe {} needs a model: attn probe {} MODEL", operation, operation);
    refuse_others();
    if (list && has_prompts())
      throw bad_usage("--list shows the points for every prompt; give no --prompt or --ids with it");
    if (list || !chosen.writes_arrays) {
      common.output = target;
      common.check_ending();
    } else {
      refuse_picture();
    }
    const auto backend = open::open_backend(execution.device, execution.backend, common.console);
    loaded_.emplace(open::load_model(model, execution, common.console));
    subject_ = std::make_unique<probe::Subject>(*loaded_, execution, *backend, common.console, given_scalings());
    report_.operation = list ? "list" : operation;
    if (!list) {
      prompts_ = std::make_unique<library::ProbePrompts>(model, *loaded_, !no_start_token, !no_special, common.console);
      if (chosen.reads_prompts)
        given_ = read_prompts(*prompts_);
      else if (operation != "heads" && has_prompts())
        throw bad_usage("{} reads its prompts from other options; see attn probe --help", operation);
    }
    finish(list ? report::findings_of(library::listed_points(*subject_)) : (this->*chosen.run)());
    return static_cast<int>(ExitCode::done);
  }

 private:
  struct Operation {
    std::string_view name;
    ProbeFindings (ProbeCommand::*run)();
    bool reads_prompts = true, writes_arrays = false;
  };
  static const std::array<Operation, 12> kOperations;

  std::optional<open::LoadedModel> loaded_;
  std::unique_ptr<probe::Subject> subject_;
  std::unique_ptr<library::ProbePrompts> prompts_;
  std::vector<Prompt> given_;
  report::ProbeReport report_;

  [[nodiscard]] const Operation& operation_named() const {
    const auto known = std::ranges::find(kOperations, operation, &Operation::name);
    if (known != kOperations.end()) return *known;
    std::vector<std::string> names;
    for (const Operation& each : kOperations) names.emplace_back(each.name);
    if (model && std::ranges::find(names, *model) != names.end())
      throw bad_usage("the operation comes first: attn probe {} {}", *model, printable(operation));
    throw bad_usage("'{}' is not an operation of attn probe{}: {}", printable(operation),
                    did_you_mean(operation, std::span<const std::string>(names)), join(names, ", "));
  }

  [[nodiscard]] bool has_prompts() const { return !words.texts.empty() || !words.ids.empty() || words.file; }

  [[nodiscard]] report::TokenWord word() const {
    return [this](probe::Id id) { return prompts_ ? prompts_->word(id) : fmt::format("#{}", id); };
  }
  /// Returns the spelling of an index of the logits, which of a classifier is a class.
  [[nodiscard]] report::TokenWord output_word(const Prompt& prompt) const {
    const probe::Lowered lowered = subject_->lower(1, prompt);
    const graph::ValueId logits = lowered.points.logits;
    if (logits == graph::kNone || lowered.graph.value(logits).shape.rank() != 2) return word();
    return [](probe::Id id) { return fmt::format("class {}", id); };
  }

  [[nodiscard]] const Prompt& only() const {
    if (given_.size() != 1) throw bad_usage("{} takes one prompt, but {} were given", operation, given_.size());
    return given_.front();
  }

  /// Returns the index that a number counted from either end means.
  [[nodiscard]] static std::int64_t index_of(const char* option, std::int64_t number, std::int64_t count) {
    const std::int64_t index = number < 0 ? number + count : number;
    if (index < 0 || index >= count)
      throw bad_usage("{} {}: there are {}, counted from 0 to {} or from -1 back", option, number, count, count - 1);
    return index;
  }

  /// Returns -o for a file of arrays.
  [[nodiscard]] std::string array_file() const {
    if (!target) throw bad_usage("{} writes arrays: give -o FILE.npz or FILE.safetensors", operation);
    refuse_binary_on_terminal(target);
    io::check_tensor_path(*target);
    return *target;
  }

  ProbeFindings capture() {
    const std::string path = array_file(), wanted = points.value_or("resid_post");
    io::write_tensors(path, probe::captured(*subject_, given_, wanted));
    return report::captured_findings(path, wanted);
  }

  ProbeFindings lens() {
    probe::LensOptions options;
    options.mid = mid;
    options.norm = !no_norm;
    options.top = top.value_or(5);
    if (token) options.target = prompts_->output(*token);
    return report::findings_of(probe::lens(*subject_, only(), options), only(), options.norm, output_word(only()));
  }

  ProbeFindings dla() {
    const auto count = static_cast<std::int64_t>(only().ids.size());
    const std::int64_t index = index_of("--position", position.value_or(-1), count);
    return report::findings_of(probe::attribute(*subject_, only(), metric(*prompts_)), index, output_word(only()));
  }

  ProbeFindings ablate() {
    probe::AblateOptions options;
    options.heads = options.mlp = options.attention = false;
    for (const std::string& part : split(parts.value_or("heads,mlp"), ',')) {
      if (part != "heads" && part != "attn" && part != "mlp")
        throw bad_usage("--parts '{}': the parts are heads, attn and mlp", printable(part));
      (part == "heads" ? options.heads : part == "attn" ? options.attention : options.mlp) = true;
    }
    const std::string how = with.value_or("zero");
    if (by_position && (how != "mean" || !reference))
      throw bad_usage("--by-position requires --with mean and --reference");
    if (reference && how == "zero") throw bad_usage("--reference requires --with mean or --with resample");
    options.with = how == "zero"       ? probe::Ablation::zero
                   : how == "resample" ? probe::Ablation::resample
                   : by_position       ? probe::Ablation::mean_by_position
                                       : probe::Ablation::mean;
    if (reference) options.reference = read_prompt_file(*prompts_, *reference);
    options.metric = metric(*prompts_);
    std::string described = how;
    if (reference)
      described += " of " + *reference;
    else if (how == "mean")
      described += " over the positions of the prompt";
    if (by_position) described += ", by position";
    return report::findings_of(probe::ablate(*subject_, only(), options), described, output_word(only()));
  }

  ProbeFindings patch() {
    if (!clean || !corrupt) throw bad_usage("patch needs --clean and --corrupt");
    if (confirm && !approximate) throw bad_usage("--confirm requires --approximate");
    Prompt from = read_prompt(*prompts_, *clean), to = read_prompt(*prompts_, *corrupt);
    if (reverse) std::swap(from, to);
    given_ = {from, to};
    probe::PatchOptions options;
    options.points = points.value_or("resid_pre");
    options.heads = by == "head-position" ? probe::Places::by_head_and_position : probe::Places::by_head;
    options.metric = metric(*prompts_);
    options.exact = !approximate;
    options.estimates = approximate;
    options.confirm = confirm.value_or(0);
    const probe::Patched out = probe::patch(*subject_, from, to, options);
    if (!out.normalized(out.clean))
      common.console.warn("the metric of the two prompts is the same, so no share is restored");
    return report::findings_of(out, to, word(), output_word(to));
  }

  ProbeFindings rollout() {
    const std::string how = fuse.value_or("mean");
    const probe::Rollout out = probe::rollout(*subject_, only(),
                                              how == "mean"  ? probe::Fuse::mean
                                              : how == "max" ? probe::Fuse::max
                                                             : probe::Fuse::min);
    const std::int64_t index = index_of("--layer", layer.value_or(-1), std::ssize(out.layers));
    const std::vector<probe::Id>& ids = only().encoder.empty() ? only().ids : only().encoder;
    return report::findings_of(out, static_cast<std::size_t>(index), how, ids, word());
  }

  ProbeFindings saliency() {
    probe::SaliencyOptions options;
    const std::string how = method.value_or("grad-x-input");
    if (how != "integrated" && (steps || rule || baseline))
      throw bad_usage("--steps, --rule and --baseline require --method integrated");
    options.method = how == "gradient"     ? probe::SaliencyMethod::gradient
                     : how == "integrated" ? probe::SaliencyMethod::integrated
                                           : probe::SaliencyMethod::grad_x_input;
    options.steps = steps.value_or(32);
    const std::string rule_name = rule.value_or("midpoint");
    options.rule = rule_name == "gauss"       ? probe::StepRule::gauss
                   : rule_name == "trapezoid" ? probe::StepRule::trapezoid
                                              : probe::StepRule::midpoint;
    options.metric = metric(*prompts_);
    std::string words_of_method = how, words_of_baseline;
    if (how == "integrated") {
      words_of_method = fmt::format("integrated gradients, {}, {} steps", rule_name, options.steps);
      words_of_baseline = baseline.value_or("pad");
      options.baseline = prompts_->baseline(words_of_baseline);
      if (options.baseline) words_of_baseline += fmt::format(" (#{})", *options.baseline);
    }
    const probe::Saliency out = probe::saliency(*subject_, only(), options);
    if (out.gap && std::abs(*out.gap) > 0.1 * std::abs(out.score - *out.baseline_score))
      common.console.warn(
          fmt::format("integrated gradients differ from the change of the score by {:.3g}; more --steps "
                      "or --baseline pad may converge",
                      *out.gap));
    return report::findings_of(out, only(), words_of_method, words_of_baseline, word(), output_word(only()));
  }

  ProbeFindings steer() {
    if (!positive || !negative) throw bad_usage("steer needs --positive and --negative");
    const std::string path = array_file();
    const std::vector<Prompt> more = read_prompt_file(*prompts_, *positive),
                              less = read_prompt_file(*prompts_, *negative);
    const probe::Points all = subject_->lower(1, more.front()).points;
    const std::vector<const probe::Block*> blocks = all.last_stack();
    const std::int64_t index = index_of("--layer", layer.value_or(-1), std::ssize(blocks));
    const std::string point = blocks[static_cast<std::size_t>(index)]->name("resid_post");
    const std::string where = at.value_or("last");
    const Tensor vector = probe::steering_vector(*subject_, more, less, point,
                                                 where == "last" ? probe::SteerAt::last : probe::SteerAt::mean);
    io::write_tensors(path, std::vector<NamedTensor>{{point, vector}});
    double squares = 0;
    for (std::int64_t i = 0; i < vector.size(); ++i) squares += vector.at(i) * vector.at(i);
    return report::steering_findings(path, point, where, std::sqrt(squares), std::ssize(more), std::ssize(less));
  }

  ProbeFindings heads() {
    if (has_prompts() && length) throw bad_usage("--length belongs to the random sequence that runs without a prompt");
    given_ = has_prompts() ? read_prompts(*prompts_) : std::vector{random_prompt()};
    return report::findings_of(probe::head_scores(*subject_, only()), sink.value_or(0.3));
  }

  /// Returns a random sequence twice.
  [[nodiscard]] Prompt random_prompt() const {
    Prompt prompt = probe::repeated_prompt(*subject_, length.value_or(50), execution.seed);
    if (const auto most = std::ssize(prompt.ids) / 2; length && most < *length)
      throw bad_usage("--length {}: the model has positions and tokens for a sequence of up to {}", *length, most);
    return prompt;
  }

  ProbeFindings outliers() {
    probe::OutlierOptions options;
    options.least = least.value_or(options.least);
    options.ratio = ratio.value_or(options.ratio);
    options.top = top.value_or(options.top);
    return report::findings_of(probe::outliers(*subject_, only(), options), options, only(), word());
  }

  ProbeFindings compare() {
    if (!other && scalings.empty())
      throw bad_usage("compare needs a second model, or --scale for a change of the first");
    std::optional<open::LoadedModel> loaded;
    if (other) loaded.emplace(open::load_model(other, execution, common.console));
    // Without another model, the scaled one is compared with itself without the factors.
    const probe::Subject second(other ? *loaded : *loaded_, execution, subject_->backend(), common.console,
                                other ? given_scalings() : std::vector<probe::Scaling>());
    const std::string wanted = points.value_or("attn_out,mlp_out,resid_post");
    const auto compared =
        other ? probe::compare(*subject_, second, given_, wanted) : probe::compare(second, *subject_, given_, wanted);
    return report::findings_of(compared, other ? *other : join(scalings, ", "));
  }

  ProbeFindings scan() {
    std::vector<std::pair<std::string, ProbeFindings>> all;
    const bool predicts = subject_->lower(1, only()).points.logits != graph::kNone;
    if (predicts) all.emplace_back("lens", lens());
    if (predicts) all.emplace_back("ablate", ablate());
    all.emplace_back("outliers", outliers());
    all.emplace_back("heads", report::findings_of(probe::head_scores(*subject_, random_prompt()), sink.value_or(0.3)));
    return report::joined_findings(std::move(all));
  }

  [[nodiscard]] static bool is_picture(Format form) {
    return form == Format::svg || form == Format::png || form == Format::html;
  }
  void refuse_picture() const {
    if (is_picture(common.form()))
      throw bad_usage("{} has no picture; its formats are table, json and csv", list ? "list" : operation);
  }

  void finish(ProbeFindings findings) {
    const probe::Lowered lowered = subject_->lower(1, given_.empty() ? Prompt{{0}, {0}, {}} : given_.front());
    report_.setting = library::setting_of(*loaded_, lowered.graph, subject_->backend(), execution);
    report_.word = word();
    report_.prompts = given_;
    report_.findings = std::move(findings);
    const Format form = common.form();
    const bool picture = is_picture(form);
    refuse_page_on_terminal(form, common.output, model);
    if (form == Format::html) report_.provenance = provenance_of(model);
    if (report_.findings.grids.empty()) refuse_picture();
    const std::string text = report::render(form, report_);
    if (common.output || target != "-")
      common.write(text, picture ? Formatting::exact : Formatting::fitting);
    else
      write_report(text, common.console, true);
  }
};

const std::array<ProbeCommand::Operation, 12> ProbeCommand::kOperations = {
    {{"scan", &ProbeCommand::scan},
     {"lens", &ProbeCommand::lens},
     {"dla", &ProbeCommand::dla},
     {"ablate", &ProbeCommand::ablate},
     {"patch", &ProbeCommand::patch, false},
     {"rollout", &ProbeCommand::rollout},
     {"saliency", &ProbeCommand::saliency},
     {"steer", &ProbeCommand::steer, false, true},
     {"heads", &ProbeCommand::heads, false},
     {"outliers", &ProbeCommand::outliers},
     {"compare", &ProbeCommand::compare},
     {"capture", &ProbeCommand::capture, true, true}}};

}  // namespace

Command probe_command() {
  return command_of<ProbeCommand>("probe", "look inside a model: logit lens, ablation, patching, activations");
}

}  // namespace attn::cli
