#include "model/backbones/backbone.h"

#include "model/policies.h"

namespace attn::keras {

void Backbone::config(Fields& f) {
  f("name", name);
  f("trainable", trainable);
  if (f.reading()) {
    f("dtype", policy);
  } else {
    // KerasHub writes the policy of every quantized layer inside it.
    DTypePolicy stated = policy;
    if (auto map = policies_in(*this, false)) stated.map = std::move(map);
    f("dtype", stated);
  }
  fields(f);
}

}  // namespace attn::keras
