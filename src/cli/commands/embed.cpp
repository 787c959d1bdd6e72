#include <utility>

#include "arguments/shared_options.h"
#include "arguments/texts.h"
#include "attn/base/error.h"
#include "attn/io/tensor_file.h"
#include "attn/open/execution.h"
#include "attn/open/session.h"
#include "attn/open/text_embedder.h"
#include "attn/report/embed_view.h"
#include "options/command.h"
#include "output/common.h"

namespace attn::cli {
namespace {

struct EmbedCommand {
  Common common;
  open::Execution execution;
  std::string model;
  std::vector<std::string> texts;
  std::optional<std::string> texts_file, target, prompt_name;

  void declare(Options& options) {
    add_common(options, common, {Format::table, Format::json}, false);
    options
        .add("model", model, "MODEL",
             "preset folder or .keras of a KerasHub TextEmbedder, or folder of sentence-transformers")
        .required();
    options.output("-o,--output", target, "FILE",
                   "write the vectors to .npz, .npy or .safetensors; with --json, the report to .json");
    options.group(OptionGroup::input);
    options.add("--text", texts, "TEXT", "text to embed; repeatable (default stdin)").repeatable();
    options.add("--texts", texts_file, "FILE", "file of texts: a JSON array, or a .txt with one per line; - is stdin");
    options.add("--prompt-name", prompt_name, "NAME",
                "prompt of a sentence-transformers model to write before each text: query (default the model's)");
    options.add("--batch-size", execution.batch, "N", "number of texts that run at a time (default 32)").above_zero();
    options
        .add("--seq-len", execution.sequence_length, "N",
             "maximum number of tokens per text (default the preprocessor's)")
        .above_zero();
    add_device(options, execution.device);
    add_backend(options, execution.backend);
    add_dtype_of_weights(options, execution.dtype);
    add_threads(options, execution.threads);
    add_weights(options, execution.weights);
    add_matmul_precision(options, execution.precision);
    add_memory_limit(options, execution.memory_limit);
  }

  [[nodiscard]] int run() const {
    refuse_binary_on_terminal(arrays());
    if (arrays()) io::check_tensor_path(*arrays());
    const std::vector<std::string> all = read_texts();
    open::TextEmbedder embedder(model, execution, prompt_name, common.console);
    std::vector<open::EmbeddedText> tokens;
    report::EmbedReport report{model,
                               embedder.loaded().model.class_name(),
                               embedder.tokenizer().class_name(),
                               open::weights_origin(embedder.loaded(), execution),
                               {},
                               {}};
    for (const std::string& text : all) {
      tokens.push_back(embedder.tokens_of(text));
      report.texts.push_back({text, std::ssize(tokens.back().ids), tokens.back().is_cut});
    }
    report.vectors = embedder.embed(tokens);
    if (arrays()) io::write_tensors(*arrays(), std::vector<NamedTensor>{{"embeddings", report.vectors}});
    common.write_report(report::render(common.form(), report), target, arrays() == "-");
    common.tell_arrays({arrays()});
    return static_cast<int>(ExitCode::done);
  }

 private:
  /// Returns the file for the vectors, if -o is not for the report.
  [[nodiscard]] std::optional<std::string> arrays() const {
    return common.is_for_report(target) ? std::nullopt : target;
  }

  [[nodiscard]] std::vector<std::string> read_texts() const {
    std::vector<std::string> all = texts;
    if (texts_file)
      for (std::string& text : read_texts_file(*texts_file)) all.push_back(std::move(text));
    if (texts.empty() && !texts_file) all.push_back(read_stdin());
    if (all.empty()) throw bad_usage("{}: the file contains no texts to embed", *texts_file);
    return all;
  }
};

}  // namespace

Command embed_command() {
  return command_of<EmbedCommand>("embed", "compute a vector for each text, and the similarity of the texts");
}

}  // namespace attn::cli
