#pragma once
#include "cresset/frontend/tree.h"
namespace cresset {
class Expr; class Def; class ClassDef;
}
