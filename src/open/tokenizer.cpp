#include "attn/open/tokenizer.h"

#include "attn/base/error.h"
#include "attn/keras/families.h"
#include "attn/open/byte_text.h"
#include "attn/tokenizers/open.h"
#include "attn/tokenizers/utf8_bytes.h"

namespace attn::open {

std::unique_ptr<tokenizers::Tokenizer> open_tokenizer_of(const std::string& path, const LoadedModel& loaded) {
  if (auto found = tokenizers::find_tokenizer(path, keras::tokenizer_tables())) return found;
  if (!loaded.model.decodes())
    if (const auto input = byte_input(loaded.model, std::nullopt); input && input->vocabulary > 'z')  // has letters
      return tokenizers::make_byte_tokenizer(input->vocabulary);
  if (is_folder(path)) return tokenizers::open_tokenizer(path, keras::tokenizer_tables());  // names what it lacks
  throw bad_input("{}: the model has no tokenizer; pass token ids with `ids` 1,2,3", loaded.file);
}

}  // namespace attn::open
