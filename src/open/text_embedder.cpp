#include "attn/open/text_embedder.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/open/model.h"
#include "attn/open/sentence_modules.h"
#include "attn/open/tokenizer.h"

namespace attn::open {
namespace {

/// The length of KerasHub's preprocessors for embedders.
constexpr std::int64_t kDefaultLength = 256;
constexpr std::int64_t kDefaultBatch = 32;
/// Lengths are rounded up to a multiple of this, so that batches of about the same length share a session.
constexpr std::int64_t kLengthStep = 8;

Execution without_shape(Execution execution) {
  execution.batch.reset();
  execution.sequence_length.reset();
  return execution;
}

/// Returns the length to which texts are cut: KerasHub's preprocessor has one of its own, and sentence-transformers
/// uses all positions unless a file states less.
std::int64_t own_length(const LoadedModel& loaded, const std::optional<SentenceModules>& modules,
                        const std::optional<std::int64_t>& positions) {
  if (modules) return modules->settings.sequence_length.value_or(positions.value_or(kDefaultLength));
  const auto task = loaded.model.task();
  return task->preprocessor ? task->preprocessor->sequence_length.value_or(kDefaultLength) : kDefaultLength;
}

std::int64_t length_of(const LoadedModel& loaded, const std::optional<SentenceModules>& modules,
                       const std::optional<std::int64_t>& asked) {
  const auto positions = loaded.model.most_positions();
  if (asked && positions && *asked > *positions)
    throw bad_usage("{} has {} positions, fewer than the `sequence_length` {}", loaded.file, *positions, *asked);
  if (asked) return *asked;
  const std::int64_t own = own_length(loaded, modules, positions);
  return std::min(own, positions.value_or(own));
}

/// Returns the text of a prompt, by default of the model's own one; "" if there is none.
std::string prompt_of(const LoadedModel& loaded, const std::optional<SentenceModules>& modules,
                      const std::optional<std::string>& asked) {
  const std::map<std::string, std::string> none;
  const auto& prompts = modules ? modules->prompts : none;
  const std::optional<std::string>& name = asked || !modules ? asked : modules->default_prompt;
  if (!name) return "";
  if (const auto found = prompts.find(*name); found != prompts.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [known, text] : prompts) names.push_back(printable(known));
  throw bad_usage("{} has no prompt '{}'; {}", loaded.file, printable(*name),
                  names.empty() ? "it has no prompts" : "its prompts are " + join(names, ", "));
}

}  // namespace

TextEmbedder::TextEmbedder(const std::string& model, const Execution& execution,
                           const std::optional<std::string>& prompt_name, const Listener& listener)
    : listener_(listener),
      runner_(model, without_shape(execution), listener),
      batch_(execution.batch.value_or(kDefaultBatch)) {
  const LoadedModel& loaded = runner_.loaded();
  const auto modules = read_sentence_modules(model);
  if (!loaded.model.task() || !loaded.model.class_name().ends_with("TextEmbedder"))
    throw bad_input(
        "{}: a {} does not embed texts; expected a TextEmbedder of KerasHub, or a folder of "
        "sentence-transformers{}",
        loaded.file, loaded.model.class_name(),
        modules && !modules->unsupported.empty() ? ", but not " + modules->unsupported : "");
  tokenizer_ = open_tokenizer_of(model, loaded);
  is_of_transformers_ = modules.has_value();
  length_ = length_of(loaded, modules, execution.sequence_length);
  prompt_ = prompt_of(loaded, modules, prompt_name);
  around_ = around();
  const std::vector<std::string> inputs = loaded.model.input_names();
  has_segments_ = std::ranges::find(inputs, "segment_ids") != inputs.end();
}

EmbeddedText TextEmbedder::tokens_of(std::string_view text) const {
  const std::string whole = prompt_ + std::string(text);
  const auto& [start, end] = around_;
  EmbeddedText out{tokenizer_->encode(whole), false};
  const std::int64_t most = std::max<std::int64_t>(length_ - std::ssize(start) - std::ssize(end), 0);
  if (std::ssize(out.ids) > most) {
    out.ids.resize(static_cast<std::size_t>(most));
    out.is_cut = true;
  }
  out.ids.insert(out.ids.begin(), start.begin(), start.end());
  out.ids.insert(out.ids.end(), end.begin(), end.end());
  return out;
}

TextEmbedder::Around TextEmbedder::around() const {
  const tokenizers::SpecialIds& specials = tokenizer_->specials();
  Around out;
  if (!is_of_transformers_) {
    if (specials.start) out.start.push_back(*specials.start);
    if (specials.end) out.end.push_back(*specials.end);
    return out;
  }
  // The tokens of the file's template; those from the end token on are behind the text.
  const std::vector<tokenizers::Id> all = tokenizer_->encode("", {.add_specials = true});
  const auto middle = specials.end ? std::ranges::find(all, *specials.end) : all.end();
  out.start.assign(all.begin(), middle);
  out.end.assign(middle, all.end());
  return out;
}

Tensor TextEmbedder::embed_batch(std::span<const EmbeddedText* const> texts) {
  const auto rows = static_cast<std::int64_t>(texts.size());
  const std::int64_t longest = std::ssize(
      (*std::ranges::max_element(texts, {}, [](const EmbeddedText* text) { return text->ids.size(); }))->ids);
  const std::int64_t length =
      std::max<std::int64_t>(longest, std::min(length_, (longest + kLengthStep - 1) / kLengthStep * kLengthStep));
  const tokenizers::Id pad = tokenizer_->specials().pad.value_or(0);
  const Tensor ids(DType::int32, {rows, length}), mask(DType::int32, {rows, length});
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::vector<tokenizers::Id>& own = texts[static_cast<std::size_t>(row)]->ids;
    for (std::int64_t at = 0; at < length; ++at) {
      const tokenizers::Id id = at < std::ssize(own) ? own[static_cast<std::size_t>(at)] : pad;
      ids.set(row * length + at, id);
      const bool is_token = is_of_transformers_ ? at < std::ssize(own) : id != pad;
      mask.set(row * length + at, is_token ? 1 : 0);
    }
  }
  std::map<std::string, Tensor> arrays = {{"token_ids", ids}, {"padding_mask", mask}};
  if (has_segments_) arrays.emplace("segment_ids", Tensor(DType::int32, {rows, length}));
  return runner_.run_rows(arrays).front().tensor.cast(DType::float32);
}

Tensor TextEmbedder::embed(std::span<const EmbeddedText> texts) {
  std::vector<const EmbeddedText*> order;  // sorted by length, so that the texts of a batch need little padding
  for (const EmbeddedText& text : texts) order.push_back(&text);
  std::ranges::stable_sort(order, std::greater(), [](const EmbeddedText* text) { return text->ids.size(); });
  const std::unique_ptr<Work> work = listener_.begin("embedding", static_cast<double>(texts.size()));
  Tensor out;
  for (std::size_t from = 0; from < order.size(); from += static_cast<std::size_t>(batch_)) {
    const std::size_t count = std::min(static_cast<std::size_t>(batch_), order.size() - from);
    const std::span batch = std::span(order).subspan(from, count);
    const Tensor vectors = embed_batch(batch);
    const std::int64_t width = vectors.shape()[1];
    if (from == 0) out = Tensor(DType::float32, {std::ssize(texts), width});
    for (std::size_t i = 0; i < count; ++i) {
      const auto vector =
          vectors.as<float>().subspan(i * static_cast<std::size_t>(width), static_cast<std::size_t>(width));
      const std::ptrdiff_t text = batch[i] - texts.data();
      if (std::ranges::any_of(vector, [](float x) { return !std::isfinite(x); }))
        throw bad_input("{}: the vector of text {} is NaN or infinite; attn run --check-finite names the layer",
                        loaded().file, text + 1);
      std::ranges::copy(vector, out.as<float>().begin() + text * width);
    }
    work->advance(static_cast<double>(count));
  }
  return out;
}

}  // namespace attn::open
