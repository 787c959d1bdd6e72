// The config.json of a Hugging Face folder, which is converted to a KerasHub model.
#include "model.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace attn;
  const std::string text(fuzz::text_of(data, size));
  fuzz::read_and_show("config.json", text);
  keras::ReadOptions as_keras_hub;
  as_keras_hub.as_keras_hub = true;
  fuzz::accepts([&] {
    const keras::Model model = keras::Model::read("config.json", text, as_keras_hub);
    fuzz::check_printable(model.hugging_face_config("float32"), "a config of Hugging Face");
  });
  return 0;
}
