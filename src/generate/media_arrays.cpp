#include "media_arrays.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace attn::generate {
namespace {

/// An item, and its number among the places of all prompts' items.
struct Slot {
  const MediaItem* item;
  Dim number = 0;
  MediaPlace place;
};

/// Returns the items with numbers, `each` for every prompt.
std::vector<Slot> slots_of(const Media& media, Dim each) {
  std::vector<Slot> out;
  Dim prompt = -1, used = 0;
  for (std::size_t i = 0; i < media.places.size(); ++i) {
    const MediaPlace& place = media.places[i];
    used = place.prompt == prompt ? used + 1 : 0;
    prompt = place.prompt;
    out.push_back({&media.items[std::min(i, media.items.size() - 1)], prompt * each + used, place});
  }
  return out;
}

/// Returns the maximum number of items of a prompt.
Dim most_of_a_prompt(const std::vector<MediaPlace>& places) {
  Dim most = 0;
  for (const MediaPlace& place : places)
    most = std::max<Dim>(most, std::ranges::count(places, place.prompt, &MediaPlace::prompt));
  return most;
}

/// Returns the arrays with this number of all items, behind the axes `outer`.
NamedTensor stacked(const std::vector<Slot>& slots, std::size_t number, const Shape& outer) {
  const MediaArray& first = slots.front().item->arrays[number];
  Shape inner = first.tensor.shape();
  for (const Slot& slot : slots) inner[0] = std::max(inner[0], slot.item->arrays[number].tensor.shape()[0]);
  Shape shape = outer;
  shape.append(inner);
  const Tensor all(first.tensor.dtype(), shape);
  for (std::int64_t i = 0; first.padding != 0.0 && i < all.size(); ++i) all.set(i, first.padding);
  const std::int64_t bytes = inner.size() * bytes_of(all.dtype());
  for (const Slot& slot : slots) {
    const Tensor& own = slot.item->arrays[number].tensor;
    std::memcpy(all.data() + slot.number * bytes, own.data(), static_cast<std::size_t>(own.bytes()));
  }
  return {first.input, all};
}

}  // namespace

std::vector<NamedTensor> arrays_of(const Media& media, Dim prompts, Dim length) {
  std::vector<NamedTensor> out;
  if (media.places.empty()) return out;
  const bool begins = media.how.begins_prompt();
  const Dim each = most_of_a_prompt(media.places);
  const std::vector<Slot> slots = slots_of(media, each);
  for (std::size_t i = 0; i < media.items.front().arrays.size(); ++i)
    out.push_back(stacked(slots, i, begins ? Shape{prompts} : Shape{prompts, each}));
  if (begins) return out;
  Dim tokens = 0;
  for (const MediaItem& item : media.items) tokens = std::max(tokens, item.tokens);
  const Tensor indices(DType::int32, {prompts, each * tokens}), mask(DType::int32, {prompts, length});
  for (const Slot& slot : slots) {
    for (Dim i = 0; i < slot.item->tokens; ++i) {
      indices.set(slot.number * tokens + i, static_cast<double>(slot.place.position + i));
      mask.set(slot.place.prompt * length + slot.place.position + i, 1);
    }
  }
  const std::string prefix = media.how.modality == keras::Modality::audio ? "audio_" : "vision_";
  out.push_back({prefix + "indices", indices});
  out.push_back({prefix + "mask", mask});
  return out;
}

}  // namespace attn::generate
