// What explain tells of a plan.
#pragma once

#include "cresset/executor/executor.h"

namespace cresset {

ExecutionReport::PlanReport describePlan(const PreparedFunction& prepared, const Plan& plan);

}  // namespace cresset
