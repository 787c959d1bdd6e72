// Results of attn probe, as text, JSON, CSV and pictures.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "attn/probe/ablate.h"
#include "attn/probe/attention.h"
#include "attn/probe/compare.h"
#include "attn/probe/dla.h"
#include "attn/probe/lens.h"
#include "attn/probe/outliers.h"
#include "attn/probe/patch.h"
#include "attn/probe/saliency.h"
#include "attn/report/format.h"
#include "attn/report/grid.h"
#include "attn/report/json.h"
#include "attn/report/table.h"
#include "attn/report/values.h"

namespace attn::report {

/// The result of one operation, in the forms that all formats are made of.
struct ProbeFindings {
  std::vector<std::pair<std::string, Json>> members;  ///< of the JSON document, after those of all operations
  std::vector<Grid> grids;                            ///< the pictures
  Table rows;                                         ///< every number: the records of CSV
  std::string text;                                   ///< what a terminal shows
};

/// Returns the spelling of a token.
using TokenWord = std::function<std::string(probe::Id)>;

struct ProbeReport {
  std::string operation;  ///< "lens"
  Setting setting;
  std::vector<probe::Prompt> prompts;
  TokenWord word;
  ProbeFindings findings;
  std::optional<Provenance> provenance;  ///< for a page
};

/// A point with its shape, in which the sizes of the prompt are letters.
struct ListedPoint {
  std::string name, shape, dtype;
};
[[nodiscard]] ProbeFindings findings_of(const std::vector<ListedPoint>& points);

/// The arrays of these points were written to a file.
[[nodiscard]] ProbeFindings captured_findings(const std::string& path, const std::string& points);

[[nodiscard]] ProbeFindings findings_of(const probe::Lens& lens, const probe::Prompt& prompt, bool norm,
                                        const TokenWord& word);

/// `with` describes the value in place of parts: "zero", "mean of reference.txt".
[[nodiscard]] ProbeFindings findings_of(const probe::Ablated& ablated, const std::string& with, const TokenWord& word);

/// The parts at `position`, and all positions in CSV.
[[nodiscard]] ProbeFindings findings_of(const probe::Attribution& attribution, std::int64_t position,
                                        const TokenWord& word);

/// `prompt` is the corrupted one, whose positions are columns; `output_word` spells the tokens of the metric.
[[nodiscard]] ProbeFindings findings_of(const probe::Patched& patched, const probe::Prompt& prompt,
                                        const TokenWord& word, const TokenWord& output_word);

/// `layer` is an index into the layers; `ids` are the tokens of the rows.
[[nodiscard]] ProbeFindings findings_of(const probe::Rollout& rollout, std::size_t layer, const std::string& fuse,
                                        const std::vector<probe::Id>& ids, const TokenWord& word);

/// A head is a sink if its attention to the first key exceeds `sink`.
[[nodiscard]] ProbeFindings findings_of(const std::vector<probe::HeadScores>& heads, double sink);

[[nodiscard]] ProbeFindings findings_of(const std::vector<probe::OutlierLayer>& layers,
                                        const probe::OutlierOptions& options, const probe::Prompt& prompt,
                                        const TokenWord& word);

/// `method` and `baseline` are words: "grad-x-input", "integrated, midpoint, 32 steps"; "pad #0".
[[nodiscard]] ProbeFindings findings_of(const probe::Saliency& saliency, const probe::Prompt& prompt,
                                        const std::string& method, const std::string& baseline, const TokenWord& word,
                                        const TokenWord& output_word);

[[nodiscard]] ProbeFindings findings_of(const std::vector<probe::ComparedPoint>& points, const std::string& other);

/// A vector was written to a file.
[[nodiscard]] ProbeFindings steering_findings(const std::string& path, const std::string& point, const std::string& at,
                                              double norm, std::int64_t positive, std::int64_t negative);

/// Joins findings under their names, for a scan.
[[nodiscard]] ProbeFindings joined_findings(std::vector<std::pair<std::string, ProbeFindings>> all);

/// Names a metric: "logit of a minus logit of b".
[[nodiscard]] std::string metric_text(const probe::Metric& metric, const TokenWord& word);
/// Returns {"token", "versus"}.
[[nodiscard]] Json metric_json(const probe::Metric& metric);

/// table, json ("attn.probe-OPERATION/1") and csv; svg, png and html: the grids.
[[nodiscard]] std::string render(Format format, const ProbeReport& report);

}  // namespace attn::report
