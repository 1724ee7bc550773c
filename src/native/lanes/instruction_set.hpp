// The instruction set that a file is compiled for. CMakeLists.txt compiles every kernel file once
// for each instruction set and defines two macros: PK_INSTRUCTION_SET names the namespace of that
// build (portable, avx2, avx512), PK_VECTOR_BYTES is the width of its vectors.
//
// All code stands inside that namespace. So no two builds define the same symbol, and the linker
// cannot put an AVX-512 function into a program that runs on a machine without AVX-512.
#pragma once

#if !defined(PK_INSTRUCTION_SET) || !defined(PK_VECTOR_BYTES)
#error "PK_INSTRUCTION_SET and PK_VECTOR_BYTES are not defined; see CMakeLists.txt"
#endif

// Compiles a kernel template for both precisions. Its types come from the declaration in
// maps/kernels.hpp or clustering/kernels.hpp, so the signature is not repeated here.
#define PK_INSTANTIATE(kernel)                                                                     \
    template decltype(kernel<float>) kernel<float>;                                                \
    template decltype(kernel<double>) kernel<double>
