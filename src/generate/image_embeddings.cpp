#include "image_embeddings.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "attn/base/error.h"
#include "attn/open/inputs.h"
#include "attn/open/memory.h"
#include "attn/open/session.h"

namespace attn::generate {
namespace {

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
  [[nodiscard]] Tensor encoded(const MediaItem& image) {
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
    const std::vector<Tensor> inputs{image.arrays.front().tensor};
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

/// Returns the rows (K,D) of all images.
Tensor rows_of(Encoder encoder, const std::vector<MediaItem>& images, const open::Listener& listener) {
  const std::unique_ptr<open::Work> work = listener.begin("reading images", static_cast<double>(images.size()));
  Dim count = 0, filled = 0;
  for (const MediaItem& image : images) count += image.tokens;
  std::optional<Tensor> out;
  for (const MediaItem& image : images) {
    const Tensor rows = encoder.encoded(image);
    if (!out) out.emplace(DType::float32, Shape{count, rows.shape().back()});
    std::memcpy(out->data() + filled, rows.data(), static_cast<std::size_t>(rows.bytes()));
    filled += rows.bytes();
    work->advance();
  }
  return *out;
}

/// Writes the positions (4,T) of the tokens of one row. A text counts on in all axes; an image counts its rows and
/// columns from there, and the text behind it from the larger of both (_compute_position_ids of KerasHub).
class TokenPositions {
 public:
  TokenPositions(const Tensor& positions, Dim row, Dim length) : positions_(positions), row_(row), length_(length) {}

  void place_text(Dim end) {
    for (; token_ < end; ++next_) place(0, 0);
  }
  void place_image(Dim rows, Dim columns) {
    for (Dim n = 0; n < rows * columns; ++n) place(n / columns, n % columns);
    next_ += std::max(rows, columns);
  }

 private:
  void place(Dim line, Dim column) {
    const std::array<Dim, 4> axes = {next_, next_, next_ + line, next_ + column};
    for (Dim axis = 0; axis < 4; ++axis)
      positions_.set((row_ * 4 + axis) * length_ + token_, static_cast<double>(axes[static_cast<std::size_t>(axis)]));
    ++token_;
  }

  const Tensor& positions_;
  Dim row_, length_, token_ = 0, next_ = 0;
};

}  // namespace

std::vector<NamedTensor> image_embeddings(const backends::Backend& backend, const open::LoadedModel& loaded,
                                          const Media& images, Dim prompts, Dim branches, Dim length,
                                          const open::Execution& execution, const open::Listener& listener) {
  if (images.items.empty()) return {};
  const Tensor rows = rows_of({backend, loaded, execution, listener}, images.items, listener);
  const Dim count = rows.shape()[0] * branches, bytes = rows.bytes() / rows.shape()[0];
  const Tensor all(DType::float32, {count, rows.shape()[1]}), indices(DType::int32, {count}),
      positions(DType::int32, {prompts * branches, 4, length});
  Dim filled = 0;
  for (Dim row = 0; row < prompts * branches; ++row) {
    TokenPositions own(positions, row, length);
    Dim first = 0;  // the image's first row
    for (std::size_t i = 0; i < images.items.size(); first += images.items[i++].tokens) {
      const MediaItem& image = images.items[i];
      const auto [prompt, position] = images.places[i];
      if (prompt != row / branches) continue;
      if (position + image.tokens > length)
        throw bad_usage("an image ends behind the {} tokens of a sequence: give a larger `max_length`", length);
      std::memcpy(all.data() + filled * bytes, rows.data() + first * bytes,
                  static_cast<std::size_t>(image.tokens * bytes));
      for (Dim n = 0; n < image.tokens; ++n) indices.set(filled++, static_cast<double>(row * length + position + n));
      own.place_text(position);
      own.place_image(image.grid.rows / images.how.merge, image.grid.columns / images.how.merge);
    }
    own.place_text(length);
  }
  return {{"image_embeddings", all}, {"vision_indices", indices}, {"position_ids", positions}};
}

}  // namespace attn::generate
