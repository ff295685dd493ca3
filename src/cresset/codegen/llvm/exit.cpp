// Objects of LLVM are never destroyed: a thread may compile while the process ends, and destructors of static objects
// run in the reverse order of constructors, LLVM's before all that could make the thread stop. So what this library
// (and LLVM in it) registers for the end of the process is dropped. The process takes its memory back.

extern "C" {

__attribute__((visibility("hidden"))) int __cxa_atexit(void (*destroy)(void*), void* object, void* library);

int __cxa_atexit(void (*)(void*), void*, void*) {
  return 0;
}
}
