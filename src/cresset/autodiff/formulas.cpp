#include "cresset/autodiff/formulas.h"

namespace cresset {

std::string allFormulas() {
  std::string all;
  for (const std::string_view theme :
       {formulas::kElements, formulas::kMatrices, formulas::kShapes, formulas::kLayers, formulas::kLosses}) {
    all += theme;
  }
  return all;
}

}  // namespace cresset
