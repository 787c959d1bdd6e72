#include "attn/report/dump_view.h"

#include "attn/report/json.h"
#include "attn/report/setting.h"

namespace attn::report {

std::string dump_json(const RunReport& report, const std::vector<run::LayerArray>& layers) {
  Json json;
  json["schema"] = "attn.dump/1";
  json.update(setting_json(report.setting));
  json["seed"] = report.seed;
  json["inputs"] = Json::array();
  for (const InputReport& input : report.inputs) json["inputs"].push_back(input_json(input));
  json["layers"] = Json::array();
  for (const run::LayerArray& array : layers) {
    json["layers"].push_back({{"name", json_text(array.name)},
                              {"class_name", json_text(array.class_name)},
                              {"call", array.call},
                              {"output", array.from.output},
                              {"shape", json_shape(array.from.tensor.shape())},
                              {"dtype", name_of(array.from.tensor.dtype())}});
  }
  return json_document(json);
}

}  // namespace attn::report
