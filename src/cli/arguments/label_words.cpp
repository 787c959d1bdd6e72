#include "arguments/label_words.h"

#include "arguments/texts.h"
#include "attn/base/error.h"
#include "attn/base/text.h"

namespace attn::cli {

void LabelWords::declare(Options& options) {
  const OptionGroupGuard group(options, OptionGroup::input);
  options.add("--text", texts, "TEXT", "label to compare with the images (CLIP, SigLIP); repeatable").repeatable();
  options.add("--texts", file, "FILE", "file of labels: a JSON array, or a .txt with one per line; - is stdin");
}

open::InputFiles LabelWords::added_to(open::InputFiles files) const {
  files.texts = texts;
  if (!file) return files;
  for (std::string& text : read_texts_file(*file)) files.texts.push_back(std::move(text));
  if (files.texts.empty()) throw bad_input("{}: the file contains no texts", printable(*file));
  return files;
}

}  // namespace attn::cli
