// What the binary operators of CPython do.
#pragma once

#include "cresset/capture/python.h"

namespace cresset::capture {

using BinaryFunction = PyObject* (*)(PyObject*, PyObject*);
inline PyObject* power(PyObject* left, PyObject* right) {
  return PyNumber_Power(left, right, Py_None);
}
inline PyObject* powerInPlace(PyObject* left, PyObject* right) {
  return PyNumber_InPlacePower(left, right, Py_None);
}

/// In the order of BINARY_OP's arguments (CPython 3.11 and later).
inline constexpr BinaryFunction kBinary[] = {
    PyNumber_Add,
    PyNumber_And,
    PyNumber_FloorDivide,
    PyNumber_Lshift,
    PyNumber_MatrixMultiply,
    PyNumber_Multiply,
    PyNumber_Remainder,
    PyNumber_Or,
    power,
    PyNumber_Rshift,
    PyNumber_Subtract,
    PyNumber_TrueDivide,
    PyNumber_Xor,
    PyNumber_InPlaceAdd,
    PyNumber_InPlaceAnd,
    PyNumber_InPlaceFloorDivide,
    PyNumber_InPlaceLshift,
    PyNumber_InPlaceMatrixMultiply,
    PyNumber_InPlaceMultiply,
    PyNumber_InPlaceRemainder,
    PyNumber_InPlaceOr,
    powerInPlace,
    PyNumber_InPlaceRshift,
    PyNumber_InPlaceSubtract,
    PyNumber_InPlaceTrueDivide,
    PyNumber_InPlaceXor};

}  // namespace cresset::capture
