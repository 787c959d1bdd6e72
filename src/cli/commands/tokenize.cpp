#include <unistd.h>

#include <memory>

#include "arguments/shared_options.h"
#include "arguments/texts.h"
#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/keras/families.h"
#include "attn/report/tokens_view.h"
#include "attn/tokenizers/open.h"
#include "attn/tokenizers/text_stream.h"
#include "options/command.h"
#include "output/common.h"

namespace attn::cli {
namespace {

using tokenizers::Id;
using tokenizers::OpenOptions;
using tokenizers::Tokenizer;
using tokenizers::Words;
using tokenizers::Workflow;

struct TokenizeCommand {
  Common common;
  std::string model;
  std::vector<std::string> texts, ids;
  std::optional<std::string> texts_file;
  OpenOptions how;
  bool decode = false, lossy = false, no_special = false, add_special = false;

  void declare(Options& options) {
    add_common(options, common, {Format::table, Format::text, Format::ids, Format::json});
    options.add("model", model, "MODEL", "preset folder, .keras of a KerasHub task, or Hugging Face folder").required();
    options.group(OptionGroup::input);
    options.add("--text", texts, "TEXT", "text to tokenize; repeatable (default stdin)").repeatable();
    options.add("--texts", texts_file, "FILE", "file of texts: a JSON array, or a .txt with one per line; - is stdin");
    options.add("--ids", ids, "IDS", "token ids to decode: 464,2746; repeatable").repeatable();
    options.group(OptionGroup::main);
    options.flag("--decode", decode, "shorthand for --format text: print only the decoded text, byte for byte");
    options.choice("--workflow", how.workflow,
                   {{"python", Workflow::python}, {"tf", Workflow::tensorflow}, {"hf", Workflow::hugging_face}}, "FORM",
                   "tokenizer to match: KerasHub's Python or TensorFlow one, or Hugging Face's");
    options.choice("--tokenizer-split", how.words,
                   {{"none", Words::none}, {"gpt2", Words::gpt2}, {"llama3", Words::llama3}}, "WORDS",
                   "word splitting of a KerasHub byte-pair tokenizer");
    options.flag("--no-special", no_special, "treat special tokens in a text as plain text");
    options.flag("--add-special", add_special, "add the special tokens of tokenizer.json, such as [CLS] or <bos>");
    add_raw(options);
    options.flag("--lossy", lossy, "replace invalid UTF-8 with U+FFFD");
  }

  [[nodiscard]] int run() const {
    const std::unique_ptr<Tokenizer> tokenizer = tokenizers::open_tokenizer(model, keras::tokenizer_tables(), how);
    report::TokensReport report;
    report.class_name = tokenizer->class_name();
    report.size = tokenizer->size();
    report.start = tokenizer->specials().start;
    report.end = tokenizer->specials().end;
    report.pad = tokenizer->specials().pad;
    report.stop = tokenizer->specials().stop;
    for (std::string& text : all_texts()) report.texts.push_back(encoded(*tokenizer, std::move(text)));
    for (const std::string& list : ids) report.texts.push_back(decoded(*tokenizer, parse_ids("--ids", list)));
    if (common.console.verbose && how.workflow == Workflow::of_files) note_differences(report);
    common.write(report::render(form(), report), form() == Format::text ? Formatting::model_text : Formatting::fitting);
    return 0;
  }

  [[nodiscard]] Format form() const { return common.format.value_or(decode ? Format::text : Format::table); }

  /// Returns the texts of the options, or of stdin if there are none.
  [[nodiscard]] std::vector<std::string> all_texts() const {
    std::vector<std::string> all = texts;
    if (texts_file)
      for (std::string& text : read_texts_file(*texts_file)) all.push_back(std::move(text));
    if (all.empty() && ids.empty() && !texts_file) {
      if (::isatty(STDIN_FILENO) == 1) throw bad_usage("no text: give --text, --texts or --ids, or a text on stdin");
      all.push_back(read_stdin());
    }
    return all;
  }

  [[nodiscard]] bool all_have_texts() const { return ids.empty(); }

  [[nodiscard]] report::TokenizedText encoded(const Tokenizer& tokenizer, std::string text) const {
    if (!is_utf8(text)) {
      if (!lossy)
        throw bad_usage("the text '{}' is not valid UTF-8; use --lossy to replace invalid bytes with U+FFFD",
                        shortened(text));
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
    if (form() != Format::ids || !all_have_texts()) row.decoded = tokenizer.decode(row_ids);
    if (form() == Format::table || form() == Format::json) {
      tokenizers::TextStream stream(tokenizer);
      for (const Id id : row_ids) {
        row.tokens.push_back(tokenizer.token(id).value_or(""));
        if (form() == Format::table) row.parts.push_back(stream.push(id));
      }
    }
    if (form() == Format::json) row.decoded = tokenizers::valid_utf8(row.decoded);
    row.ids = std::move(row_ids);
    return row;
  }

  /// Notes that Hugging Face's library and KerasHub read this folder differently.
  void note_differences(const report::TokensReport& report) const {
    std::size_t different = 0;
    try {
      OpenOptions other = how;
      other.workflow = Workflow::python;
      const std::unique_ptr<Tokenizer> keras = tokenizers::open_tokenizer(model, keras::tokenizer_tables(), other);
      for (const report::TokenizedText& text : report.texts)
        if (text.text && !add_special && !no_special && keras->encode(*text.text) != text.ids) ++different;
    } catch (const Error&) {
      return;  // KerasHub does not read this folder
    }
    if (different > 0)
      common.console.note(fmt::format("KerasHub's generate() uses other ids for {} of {} texts: use --workflow python",
                                      different, report.texts.size()));
  }
};

}  // namespace

Command tokenize_command() { return command_of<TokenizeCommand>("tokenize", "convert text to token ids and back"); }

}  // namespace attn::cli
