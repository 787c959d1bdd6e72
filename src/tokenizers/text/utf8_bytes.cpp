#include "attn/tokenizers/utf8_bytes.h"

#include <fmt/format.h>

#include <algorithm>

#include "attn/base/error.h"
#include "attn/base/text.h"

namespace attn::tokenizers {
namespace {

constexpr std::int64_t kBytes = 256;

class ByteTokenizer final : public Tokenizer {
 public:
  explicit ByteTokenizer(std::int64_t size) : size_(std::min(size, kBytes)) { class_name_ = "bytes"; }

  [[nodiscard]] std::string decode(std::span<const Id> ids) const override {
    std::string out;
    for (const Id id : ids) {
      if (!has(id)) throw bad_usage("{} is not a token of the {} bytes that the model has", id, size_);
      out += static_cast<char>(id);
    }
    return out;
  }

  /// Returns a printable ASCII character unchanged, and any other byte as "<0x0A>".
  [[nodiscard]] std::optional<std::string> token(Id id) const override {
    if (!has(id)) return std::nullopt;
    if (id >= ' ' && id <= '~') return std::string(1, static_cast<char>(id));
    return fmt::format("<0x{:02X}>", id);
  }

  [[nodiscard]] std::optional<Id> id(std::string_view token) const override {
    for (Id id = 0; has(id); ++id)
      if (this->token(id) == token) return id;
    return std::nullopt;
  }

  [[nodiscard]] std::int64_t size() const override { return size_; }

 protected:
  [[nodiscard]] std::vector<Id> encode_valid(std::string_view text, const EncodeOptions& /*options*/) const override {
    std::vector<Id> ids;
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      if (!has(byte))
        throw bad_usage("the byte {} of the text is not a token of the model, which has {}; --ids passes token ids",
                        byte, size_);
      ids.push_back(byte);
    }
    return ids;
  }

 private:
  [[nodiscard]] bool has(Id id) const { return id >= 0 && id < size_; }

  std::int64_t size_;
};

}  // namespace

std::unique_ptr<Tokenizer> make_byte_tokenizer(std::int64_t size) { return std::make_unique<ByteTokenizer>(size); }

}  // namespace attn::tokenizers
