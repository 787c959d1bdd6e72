#include "hdf5_answer.h"

#include <utility>
#include <vector>

#include "attn/base/error.h"
#include "attn/base/size.h"
#include "attn/base/text.h"
#include "tensors/raw_tensor.h"
#include "zip/bomb.h"

namespace attn::io {
namespace {

ChannelBroken invalid_data() { return {ChannelBroken::Reason::invalid_data}; }

class Answer {
 public:
  Answer(Channel& channel, const Bytes& file, const std::string& place)
      : channel_(channel), file_(file), place_(place) {}

  Hdf5File read() {
    Hdf5File result;
    Hdf5Object* object = nullptr;  // the most recent object
    while (true) {
      switch (static_cast<Hdf5Tag>(channel_.u8())) {
        case Hdf5Tag::group:
          object = &add(result, channel_.text());
          break;
        case Hdf5Tag::dataset: {
          std::string path = channel_.text();
          Tensor tensor = read_tensor(fmt::format("{}: /{}", place_, printable(path)));
          object = &add(result, std::move(path));
          object->tensor = std::move(tensor);
          break;
        }
        case Hdf5Tag::attribute:
          if (object == nullptr) throw invalid_data();
          read_attribute(*object);
          break;
        case Hdf5Tag::error:
          throw bad_input("{}: {}", place_, printable(channel_.text()));
        case Hdf5Tag::end:
          return result;
        default:
          throw invalid_data();
      }
    }
  }

 private:
  Hdf5Object& add(Hdf5File& result, std::string path) const {
    if (static_cast<std::int64_t>(result.objects.size()) == kMaxHdf5Objects) throw invalid_data();
    if (!is_utf8(path)) throw bad_input("{}: the name /{} is not UTF-8", place_, printable(path));
    const auto [added, is_new] = result.objects.try_emplace(std::move(path));
    if (!is_new) throw bad_input("{}: /{} occurs twice", place_, printable(added->first));
    return added->second;
  }

  Tensor read_tensor(const std::string& place) {
    const std::uint8_t dtype_number = channel_.u8();
    const std::uint8_t rank = channel_.u8();
    if (dtype_number > static_cast<std::uint8_t>(DType::boolean) || rank > kMaxRank) throw invalid_data();
    const auto dtype = static_cast<DType>(dtype_number);
    std::vector<Dim> dims;
    for (int axis = 0; axis < rank; ++axis) {
      const std::uint64_t dim = channel_.u64();
      if (dim > static_cast<std::uint64_t>(kMaxSize)) throw invalid_data();
      dims.push_back(static_cast<Dim>(dim));
    }
    const auto size = byte_count(dtype, dims);
    if (!size) throw bad_input("{}: its shape {} is larger than any file", place, Shape(dims).str());
    Bytes bytes;
    switch (static_cast<Hdf5Storage>(channel_.u8())) {
      case Hdf5Storage::in_file: {
        const std::uint64_t offset = channel_.u64();
        if (*size > file_.size() || offset > static_cast<std::uint64_t>(file_.size() - *size)) {
          throw bad_input("{}: its {} bytes at byte {} are not all in the file", place, *size, offset);
        }
        in_file_ += *size;
        if (in_file_ > file_.size()) throw bad_input("{}: its datasets overlap", place_);
        bytes = file_.slice(static_cast<std::int64_t>(offset), *size);
        break;
      }
      case Hdf5Storage::here:
        copied_ = checked_add(copied_, *size).value_or(kMaxSize);
        if (is_bomb(copied_, file_.size())) throw invalid_data();
        bytes = Bytes(allocate_bytes(*size), *size);
        channel_.bytes({bytes.data().get(), static_cast<std::size_t>(*size)});
        break;
      default:
        throw invalid_data();
    }
    return tensor_over(dtype, std::move(dims), bytes, place);
  }

  void read_attribute(Hdf5Object& object) {
    std::string name = channel_.text();
    Hdf5Text text;
    text.is_list = channel_.u8() != 0;
    const std::uint32_t count = channel_.u32();
    strings_ += count;
    if (strings_ > kMaxHdf5Objects || (!text.is_list && count != 1)) throw invalid_data();
    for (std::uint32_t i = 0; i < count; ++i) text.values.push_back(channel_.text());
    object.attributes.insert_or_assign(std::move(name), std::move(text));
  }

  Channel& channel_;
  const Bytes& file_;
  const std::string& place_;
  std::int64_t in_file_ = 0;  // bytes of all contiguous datasets in the file
  std::int64_t copied_ = 0;   // bytes of all other datasets
  std::int64_t strings_ = 0;
};

}  // namespace

Hdf5File read_answer(Channel& channel, const Bytes& file, const std::string& place) {
  return Answer(channel, file, place).read();
}

}  // namespace attn::io
