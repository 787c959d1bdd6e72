#include <unistd.h>

#include <array>
#include <charconv>
#include <memory>
#include <nlohmann/json.hpp>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/io/file.h"
#include "attn/io/json_text.h"
#include "attn/report/tokens_view.h"
#include "attn/tokenizers/open.h"
#include "attn/tokenizers/text_stream.h"
#include "command.h"

namespace attn::cli {
namespace {

using tokenizers::Id;
using tokenizers::OpenOptions;
using tokenizers::Tokenizer;
using tokenizers::Words;
using tokenizers::Workflow;

/// "1,2,3" or "[1, 2, 3]", as JSON shows them. Throws Error (usage).
std::vector<Id> parse_ids(const std::string& text) {
  std::string_view rest = text;
  if (rest.starts_with('[') && rest.ends_with(']')) rest = rest.substr(1, rest.size() - 2);
  std::vector<Id> ids;
  while (true) {
    rest.remove_prefix(std::min(rest.find_first_not_of(" ,\n\t"), rest.size()));
    if (rest.empty()) return ids;
    Id id = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), id);
    const auto length = static_cast<std::size_t>(end - rest.data());
    if (error != std::errc() || (length < rest.size() && rest.find_first_of(" ,\n\t") != length))
      throw bad_usage("--ids '{}': expected ids as in 464,2746", shortened(text));
    ids.push_back(id);
    rest.remove_prefix(length);
  }
}

/// The texts of a file: one a line of a .txt, else a JSON array of them.
std::vector<std::string> read_texts(const std::string& path) {
  const io::Bytes file = io::read_file(path);
  const std::string place = path == "-" ? "stdin" : printable(path);
  if (path.ends_with(".txt")) {
    std::vector<std::string> lines = split(file.text(), '\n');
    if (!lines.empty() && lines.back().empty()) lines.pop_back();
    return lines;
  }
  constexpr io::JsonLimits kLimits{std::size_t{1} << 30, std::size_t{1} << 24};
  const nlohmann::json json = io::parse_json(file.text(), place, kLimits);
  std::vector<std::string> texts;
  if (!json.is_array()) throw bad_input("{}: expected a JSON array of texts, or a .txt with one a line", place);
  for (const nlohmann::json& text : json) {
    if (!text.is_string()) throw bad_input("{}: /{}: expected a text", place, texts.size());
    texts.push_back(text.get<std::string>());
  }
  return texts;
}

struct TokenizeCommand {
  Common common;
  std::string model;
  std::vector<std::string> texts, ids;
  std::optional<std::string> texts_file;
  OpenOptions options;
  bool decode = false, lossy = false, no_special = false, add_special = false;

  [[nodiscard]] int run() const {
    const std::unique_ptr<Tokenizer> tokenizer = tokenizers::open_tokenizer(model, options);
    report::TokensReport report;
    report.class_name = tokenizer->class_name();
    report.size = tokenizer->size();
    report.start = tokenizer->specials().start;
    report.end = tokenizer->specials().end;
    report.pad = tokenizer->specials().pad;
    report.stop = tokenizer->specials().stop;
    for (std::string& text : all_texts()) report.texts.push_back(encoded(*tokenizer, std::move(text)));
    for (const std::string& list : ids) report.texts.push_back(decoded(*tokenizer, parse_ids(list)));
    if (common.console.verbose && options.workflow == Workflow::of_files) note_differences(report);
    write_result(text_of(report), common.output, decode ? Look::exact : Look::fitting);
    return 0;
  }

  [[nodiscard]] std::string text_of(const report::TokensReport& report) const {
    if (common.format == "json") return report::tokens_json(report);
    if (common.format == "ids") return report::tokens_ids(report);
    return decode ? report::tokens_decoded(report) : report::tokens_text(report);
  }

  /// What the options give, or what stdin holds where they give nothing.
  [[nodiscard]] std::vector<std::string> all_texts() const {
    std::vector<std::string> all = texts;
    if (texts_file)
      for (std::string& text : read_texts(*texts_file)) all.push_back(std::move(text));
    if (all.empty() && ids.empty() && !texts_file) {
      if (::isatty(STDIN_FILENO) == 1) throw bad_usage("no text: give --text, --texts or --ids, or a text on stdin");
      all.emplace_back(io::read_file("-").text());
    }
    return all;
  }

  [[nodiscard]] report::TokenizedText encoded(const Tokenizer& tokenizer, std::string text) const {
    if (!is_utf8(text)) {
      if (!lossy)
        throw bad_usage("the text '{}' is not valid UTF-8; --lossy puts U+FFFD in its place", shortened(text));
      text = tokenizers::valid_utf8(text);
    }
    tokenizers::EncodeOptions encode;
    encode.specials_in_text = !no_special;
    encode.add_specials = add_special;
    report::TokenizedText row = decoded(tokenizer, tokenizer.encode(text, encode));
    row.text = std::move(text);
    return row;
  }

  [[nodiscard]] report::TokenizedText decoded(const Tokenizer& tokenizer, std::vector<Id> row_ids) const {
    report::TokenizedText row;
    row.decoded = tokenizer.decode(row_ids);
    if (common.format != "ids" && !(decode && common.format == "table")) {
      tokenizers::TextStream stream(tokenizer);
      for (const Id id : row_ids) {
        row.tokens.push_back(tokenizer.token(id).value_or(""));
        if (common.format == "table") row.parts.push_back(stream.push(id));
      }
    }
    if (common.format == "json") row.decoded = tokenizers::valid_utf8(row.decoded);
    row.ids = std::move(row_ids);
    return row;
  }

  /// A Hugging Face folder means one thing to the library that it was written for, and another to KerasHub.
  void note_differences(const report::TokensReport& report) const {
    std::size_t different = 0;
    try {
      OpenOptions other = options;
      other.workflow = Workflow::python;
      const std::unique_ptr<Tokenizer> keras = tokenizers::open_tokenizer(model, other);
      for (const report::TokenizedText& text : report.texts)
        if (text.text && !add_special && !no_special && keras->encode(*text.text) != text.ids) ++different;
    } catch (const Error&) {
      return;  // KerasHub does not read it
    }
    if (different > 0)
      common.console.note(fmt::format("KerasHub's generate() takes other ids for {} of {} texts: --workflow python",
                                      different, report.texts.size()));
  }
};

}  // namespace

Run add_tokenize(CLI::App& app) {
  auto command = std::make_shared<TokenizeCommand>();
  add_common(app, command->common, {"table", "json", "ids"});
  app.add_option("model", command->model, "preset folder, .keras of a task, or Hugging Face folder")
      ->type_name("MODEL")
      ->required();
  app.add_option("--text", command->texts, "a text to tokenize; without any option stdin is one")
      ->type_name("TEXT")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--texts", command->texts_file, "a JSON array of texts, or a .txt with one a line")->type_name("FILE");
  app.add_option("--ids", command->ids, "ids to make text of: 464,2746")
      ->type_name("IDS")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_flag("--decode", command->decode, "show what the ids stand for alone, byte for byte");
  app.add_option("--workflow", command->options.workflow,
                 "whose ids: KerasHub's Python or TensorFlow form, Hugging Face")
      ->transform(CLI::CheckedTransformer(std::map<std::string, Workflow>{
          {"python", Workflow::python}, {"tf", Workflow::tensorflow}, {"hf", Workflow::hugging_face}}))
      ->type_name("FORM");
  app.add_option("--tokenizer-split", command->options.words, "how a KerasHub byte-pair tokenizer cuts words before")
      ->transform(CLI::CheckedTransformer(
          std::map<std::string, Words>{{"none", Words::none}, {"gpt2", Words::gpt2}, {"llama3", Words::llama3}}))
      ->type_name("WORDS");
  app.add_flag("--no-special", command->no_special, "special tokens in a text are letters like others");
  app.add_flag("--add-special", command->add_special,
               "put around a text what a tokenizer.json puts there: [CLS], <bos>");
  app.add_flag("--lossy", command->lossy, "U+FFFD in the place of bytes that are no UTF-8");
  return [command] { return command->run(); };
}

}  // namespace attn::cli
