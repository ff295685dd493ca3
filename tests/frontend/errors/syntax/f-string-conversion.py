# run: tree
x = f"{a!x}"  # error: conversion must be !r, !s or !a
