// What names mean in an archive's code, beyond what every program sees.
#pragma once

#include <memory>
#include <string>

#include "cresset/frontend/sugared_value.h"

namespace cresset {

class SourceImporter;

/// `__torch__` and what follows it up to the name of a class or function.
SugaredValuePtr makeNamespaceValue(std::shared_ptr<SourceImporter> importer, std::string prefix);
/// `CONSTANTS`.
SugaredValuePtr makeConstantsValue(std::shared_ptr<SourceImporter> importer);
/// `torch` or `ops`, for code of an old file format: operators mean what they meant then (ops/upgraders.h).
SugaredValuePtr makeVersionedValue(SugaredValuePtr value, int64_t version);
/// Whether any operator has changed its meaning since this file format.
bool hasChangedOperators(int64_t version);

}  // namespace cresset
