#include "attn/generate/seen_images.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <optional>
#include <utility>

#include "attn/base/error.h"
#include "attn/generate/image_prompts.h"
#include "attn/keras/families.h"
#include "attn/open/inputs.h"
#include "attn/open/memory.h"
#include "attn/open/session.h"

namespace attn::generate {
namespace {

/// Returns the image as tokens; its place is still open.
SeenImage as_tokens(const keras::ImagePrompt& how, const open::PatchImage& image) {
  SeenImage out;
  out.rows = image.grid.rows / how.merge;
  out.columns = image.grid.columns / how.merge;
  return out;
}

/// Finds the marks of images in the prompts.
std::vector<SeenImage> find_images(const keras::ImagePrompt& how, const std::vector<open::PatchImage>& images,
                                   const std::vector<std::vector<Token>>& prompts, Token mark) {
  std::vector<SeenImage> out;
  Dim marks = 0, first = 0;  // marks include those of missing images
  for (std::size_t p = 0; p < prompts.size(); ++p) {
    const std::vector<Token>& tokens = prompts[p];
    for (auto at = tokens.begin(); (at = std::find(at, tokens.end(), mark)) != tokens.end();) {
      ++marks;
      if (out.size() == images.size()) {
        ++at;
        continue;
      }
      SeenImage image = as_tokens(how, images[out.size()]);
      image.prompt = static_cast<Dim>(p);
      image.position = at - tokens.begin();
      image.first = first;
      first += image.tokens();
      if (tokens.end() - at < image.tokens() || std::count(at, at + image.tokens(), mark) != image.tokens())
        throw bad_usage("prompt {} ends within an image of {} tokens: give a larger `max_length`", p + 1,
                        image.tokens());
      at += image.tokens();
      out.push_back(image);
    }
  }
  if (marks != std::ssize(images))
    throw bad_usage("{} images were given, and the prompts have {} marks {}, one of which stands for an image",
                    images.size(), marks, how.mark);
  return out;
}

/// Runs the vision encoder on an image.
class Encoder {
 public:
  Encoder(const backends::Backend& backend, const open::LoadedModel& loaded, const open::Execution& execution,
          const open::Listener& listener)
      : backend_(backend),
        loaded_(loaded),
        execution_(execution),
        listener_(listener),
        weights_(open::load_weights(loaded, execution, listener)) {}

  /// Returns the rows of an image, a view that is valid until the next one.
  [[nodiscard]] Tensor encoded(const open::PatchImage& image) {
    const std::pair grid(image.grid.rows, image.grid.columns);
    if (!session_ || grid_ != grid) {
      session_.reset();
      keras::LowerOptions lower = open::lower_options(execution_, {});
      lower.image = image.grid;
      graph::Graph graph = loaded_.model.lower(lower);
      open::require_memory(loaded_, lower, graph, backend_, execution_);
      session_.emplace(
          open::prepare_session(backend_, std::move(graph), weights_, execution_.compile_options(), listener_));
      grid_ = grid;
    }
    const std::vector<Tensor> inputs{image.patches};
    session_->run(inputs);
    return session_->outputs().front().tensor;
  }

 private:
  const backends::Backend& backend_;
  const open::LoadedModel& loaded_;
  const open::Execution& execution_;
  const open::Listener& listener_;
  std::vector<Tensor> weights_;
  std::pair<Dim, Dim> grid_;
  std::optional<run::Session> session_;
};

/// A special token, and where it occurs next in a text.
struct Special {
  std::string_view word;
  Token id = 0;
  std::size_t at = 0;
};

/// Returns the special tokens of the tokenizer's class, and `mark`. KerasHub's preprocessor cuts prompts with images at
/// them, because its tokenizer encodes some as letters.
std::vector<Special> specials_of(const tokenizers::Tokenizer& tokenizer, std::string_view mark, std::string_view text) {
  std::vector<std::string_view> words{mark};
  for (const tokenizers::KerasClass& row : keras::tokenizer_tables().classes) {
    if (row.name != tokenizer.class_name()) continue;
    words.push_back(row.end);
    words.insert(words.end(), row.more.begin(), row.more.end());
    words.insert(words.end(), row.vision.begin(), row.vision.end());
  }
  std::vector<Special> out;
  for (const std::string_view word : words)
    if (const auto id = tokenizer.id(word); id && !word.empty()) out.push_back({word, *id, text.find(word)});
  return out;
}

}  // namespace

std::vector<Token> ImageMarks::encoded(std::string_view text, const tokenizers::Tokenizer& tokenizer,
                                       const tokenizers::EncodeOptions& options) {
  if (!how_) return tokenizer.encode(text, options);
  if (how_->merge == 0) return tokenizer.encode(with_placeholders(text, *how_), options);
  const bool has_images = !images_.empty() || text.find(how_->mark) != std::string_view::npos;
  if (!has_images || !options.specials_in_text) return tokenizer.encode(text, options);
  std::vector<Special> specials = specials_of(tokenizer, how_->mark, text);
  std::vector<Token> out;
  for (std::size_t from = 0; from < text.size();) {
    const auto next = std::ranges::min_element(specials, {}, &Special::at);
    const std::size_t end = next == specials.end() ? std::string_view::npos : next->at;
    if (end > from) {
      const std::vector<Token> part = tokenizer.encode(text.substr(from, end - from), options);
      out.insert(out.end(), part.begin(), part.end());
    }
    if (end == std::string_view::npos) break;
    const bool is_image = next->word == how_->mark && next_ < images_.size();
    const Dim count = is_image ? as_tokens(*how_, images_[next_++]).tokens() : 1;
    out.insert(out.end(), static_cast<std::size_t>(count), next->id);
    from = end + next->word.size();
    for (Special& special : specials)
      if (special.at < from) special.at = text.find(special.word, from);
  }
  return out;
}

SeenImages see_images(const backends::Backend& backend, const open::LoadedModel& loaded,
                      const std::vector<open::PatchImage>& images, const std::vector<std::vector<Token>>& prompts,
                      const tokenizers::Tokenizer* tokenizer, const open::Execution& execution,
                      const open::Listener& listener) {
  const auto how = loaded.model.image_prompt();
  if (!how || how->merge == 0) throw internal_error("a {} reads no images of any size", loaded.model.class_name());
  std::optional<Token> mark;
  if (tokenizer != nullptr) mark = tokenizer->id(how->placeholder);
  if (!mark && !images.empty())
    throw bad_usage("`images` require prompts of text, and a tokenizer with the token {}", how->placeholder);
  SeenImages out;
  if (mark) out.images = find_images(*how, images, prompts, *mark);
  if (images.empty()) return out;
  const std::unique_ptr<open::Work> work = listener.begin("reading images", static_cast<double>(images.size()));
  Encoder encoder(backend, loaded, execution, listener);
  for (std::size_t i = 0; i < images.size(); ++i) {
    const Tensor seen = encoder.encoded(images[i]);
    const Dim width = seen.shape().back(), count = out.images.back().first + out.images.back().tokens();
    if (i == 0) out.rows = Tensor(DType::float32, {count, width});
    std::memcpy(out.rows.data() + out.images[i].first * width * bytes_of(DType::float32), seen.data(),
                static_cast<std::size_t>(seen.bytes()));
    work->advance();
  }
  return out;
}

namespace {

/// Writes the positions (4,T) of the tokens of one row. A text counts on in all axes; an image counts its rows and
/// columns from there, and the text behind it from the larger of both (_compute_position_ids of KerasHub).
void place_tokens(const std::vector<SeenImage>& images, const Tensor& positions, Dim row, Dim length) {
  Dim token = 0, next = 0;
  const auto place = [&](Dim line, Dim column) {
    const std::array<Dim, 4> axes = {next, next, next + line, next + column};
    for (Dim axis = 0; axis < 4; ++axis)
      positions.set((row * 4 + axis) * length + token, static_cast<double>(axes[static_cast<std::size_t>(axis)]));
    ++token;
  };
  const auto place_text = [&](Dim end) {
    for (; token < end; ++next) place(0, 0);
  };
  for (const SeenImage& image : images) {
    place_text(image.position);
    for (Dim n = 0; n < image.tokens(); ++n) place(n / image.columns, n % image.columns);
    next += std::max(image.rows, image.columns);
  }
  place_text(length);
}

}  // namespace

std::vector<NamedTensor> SeenImages::arrays(Dim prompts, Dim branches, Dim length) const {
  if (images.empty()) return {};
  const Dim count = rows.shape()[0] * branches, bytes = rows.bytes() / rows.shape()[0];
  const Tensor all(DType::float32, {count, rows.shape()[1]}), indices(DType::int32, {count}),
      positions(DType::int32, {prompts * branches, 4, length});
  Dim filled = 0;
  for (Dim row = 0; row < prompts * branches; ++row) {
    std::vector<SeenImage> own;
    std::copy_if(images.begin(), images.end(), std::back_inserter(own),
                 [&](const SeenImage& image) { return image.prompt == row / branches; });
    for (const SeenImage& image : own) {
      if (image.position + image.tokens() > length)
        throw bad_usage("an image ends behind the {} tokens of a sequence: give a larger `max_length`", length);
      std::memcpy(all.data() + filled * bytes, rows.data() + image.first * bytes,
                  static_cast<std::size_t>(image.tokens() * bytes));
      for (Dim n = 0; n < image.tokens(); ++n)
        indices.set(filled++, static_cast<double>(row * length + image.position + n));
    }
    place_tokens(own, positions, row, length);
  }
  return {{"image_embeddings", all}, {"vision_indices", indices}, {"position_ids", positions}};
}

}  // namespace attn::generate
