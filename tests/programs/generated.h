// Code that is made at run time and calls back into C.
#pragma once

#include "block.h"

typedef void (*Callee)(long);
typedef void (*Generated)(Callee, long);

BLOCK void callee(long units) {
  work(units);
  KEEP;
}

BLOCK void caller(Generated code, long units) {
  code(callee, units);
  KEEP;
}
