#include "options/synonym_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "attn/base/text.h"

namespace attn::cli {
namespace {

/// Names of Keras's methods, and of commands of other programs.
constexpr auto kCommands = std::to_array<Synonym>({
    {"predict", "run"},
    {"infer", "run"},
    {"inference", "run"},
    {"forward", "run"},
    {"eval", "evaluate"},
    {"test", "evaluate"},
    {"accuracy", "evaluate"},
    {"fit", "train"},
    {"finetune", "train"},
    {"fine-tune", "train"},
    {"resume", "train --resume"},
    {"info", "summary"},
    {"show", "summary"},
    {"inspect", "summary"},
    {"describe", "summary"},
    {"print", "summary"},
    {"load", "summary"},
    {"open", "summary"},
    {"view", "summary"},
    {"flops", "summary --costs"},
    {"costs", "summary --costs"},
    {"quantize", "convert --quantize"},
    {"export", "convert"},
    {"onnx", "convert"},
    {"save", "convert"},
    {"benchmark", "bench"},
    {"time", "bench"},
    {"profile", "bench --profile"},
    {"complete", "generate"},
    {"chat", "generate"},
    {"sample", "generate"},
    {"encode", "tokenize"},
    {"decode", "tokenize --decode"},
    {"detokenize", "tokenize --decode"},
    {"perplexity", "score"},
    {"ppl", "score"},
    {"diff", "compare"},
    {"check", "validate"},
    {"lint", "validate"},
    {"draw", "plot"},
    {"graph", "plot"},
    {"plot-model", "plot"},
    {"plot_model", "plot"},
    {"attention", "heatmap"},
    {"visualize", "heatmap"},
    {"visualise", "heatmap"},
    {"lens", "probe lens"},
    {"ablate", "probe ablate"},
    {"patch", "probe patch"},
    {"steer", "probe steer"},
    {"heads", "probe heads"},
    {"gradients", "grad"},
    {"backward", "grad"},
    {"gpus", "devices"},
    {"config", "get-config"},
    {"initialize", "init"},
    {"flatten", "flatten-script"},
});

/// The first row is used whose option the command has.
constexpr auto kOptions = std::to_array<Synonym>({
    {"--lr", "--learning-rate"},
    {"--beam-size", "--num-beams"},
    {"--beam-width", "--num-beams"},
    {"-n", "--iterations"},
    {"--max-tokens", "--max-new-tokens"},
    {"--num-tokens", "--max-new-tokens"},
    {"--n-predict", "--max-new-tokens"},
    {"--temp", "--temperature"},
    {"-t", "--temperature"},
    {"-t", "--threads"},
    {"-p", "--prompt"},
    {"--prompt-file", "--prompts"},
    {"--file", "--prompts"},
    {"--file", "--input"},
    {"-f", "--prompts"},
    {"--greedy", "--sampler greedy"},
    {"--do-sample", "--sampler random"},
    {"--stop-token", "--stop-ids"},
    {"--eos", "--stop-ids"},
    {"-b", "--batch-size"},
    {"--bs", "--batch-size"},
    {"-e", "--epochs"},
    {"--num-epochs", "--epochs"},
    {"--num-steps", "--steps"},
    {"--max-steps", "--steps"},
    {"--iters", "--iterations"},
    {"--max-len", "--seq-len"},
    {"--sequence-length", "--seq-len"},
    {"--num-threads", "--threads"},
    {"-j", "--threads"},
    {"--precision", "--matmul-precision"},
    {"--quantize", "--dtype int8"},
    {"--quantise", "--quantize"},
    {"--int8", "--dtype int8"},
    {"--int8", "--quantize int8"},
    {"--fp16", "--dtype float16"},
    {"--half", "--dtype float16"},
    {"--bf16", "--dtype bfloat16"},
    {"--mixed-precision", "--dtype mixed_float16"},
    {"--gpu", "--device cuda"},
    {"--cuda", "--device cuda"},
    {"--cpu", "--device cpu"},
    {"-i", "--input"},
    {"--in", "--input"},
    {"--inputs", "--input"},
    {"-i", "--data"},
    {"--train-data", "--data"},
    {"--val", "--validation"},
    {"--validation-data", "--validation"},
    {"--valid", "--validation"},
    {"--val-split", "--validation-split"},
    {"--wd", "--weight-decay"},
    {"--grad-clip", "--clipnorm"},
    {"--warmup", "--warmup-steps"},
    {"--accumulation-steps", "--accumulate"},
    {"--checkpoint-every", "--save-every"},
    {"--continue", "--resume"},
    {"--patience", "--early-stopping"},
    {"--out", "--output"},
    {"--output-file", "--output"},
    {"--output-path", "--output"},
    {"--dest", "--output"},
    {"--tolerance", "--rtol"},
    {"--expected", "--expect"},
    {"--reference", "--expect"},
    {"--tokens", "--ids"},
    {"--token-ids", "--ids"},
    {"--layers", "--layer"},
    {"--heads", "--head"},
    {"--format-json", "--json"},
    {"--silent", "--quiet"},
    {"--no-color", "--color never"},
    {"--width", "--line-length"},
});

}  // namespace

std::span<const Synonym> option_synonyms() { return kOptions; }

std::string did_you_mean_one_of(const std::vector<std::string>& names) {
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string_view before = i == 0 ? "" : i + 1 < names.size() ? ", " : " or ";
    out += fmt::format("{}'{}'", before, printable(names[i]));
  }
  return out.empty() ? "" : fmt::format(" (did you mean {}?)", out);
}

std::vector<std::string> with_prefix(std::string_view word, const std::vector<std::string>& names, std::size_t least) {
  constexpr std::size_t kMost = 3;
  std::vector<std::string> out;
  if (word.size() < least) return out;
  for (const std::string& name : names)
    if (name.starts_with(word) && out.size() < kMost) out.push_back(name);
  return out;
}

std::string as_written_here(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 'a' - 'A');
    if (c == '_') c = '-';
  }
  return out;
}

std::string meant_command(std::string_view word, const std::vector<std::string>& commands) {
  const std::string name = as_written_here(word);
  for (const Synonym& synonym : kCommands)
    if (synonym.word == name) return did_you_mean_one_of({std::string(synonym.meant)});
  constexpr std::size_t kLeast = 2;
  if (const auto longer = with_prefix(name, commands, kLeast); !longer.empty()) return did_you_mean_one_of(longer);
  return did_you_mean(word, std::span<const std::string>(commands));
}

}  // namespace attn::cli
