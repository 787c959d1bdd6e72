// The style sheets and scripts of pages, embedded from src/report/page.
#pragma once

#include <string_view>

namespace attn::report::page {

struct Asset {
  std::string_view text;
  std::string_view sha256;  ///< SHA-256 in base64, for the content security policy
};

extern const Asset kGridCss, kGridJs, kHeatmapCss, kHeatmapJs, kPageCss, kPageHtml, kPageJs, kPlotCss, kPlotJs,
    kStartJs;

}  // namespace attn::report::page
