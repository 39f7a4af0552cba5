// Compiles files of HLSL to DXIL for shader model 6.0, with Microsoft's compiler and its own validator: see scripts/dxil. It is C++
// because the interfaces of that compiler are, and change from release to release with the header beside them.
//
//   compile LIBRARY FILE...      exit code 1, and the compiler's messages, where one is refused

#include "dxcapi.h"
#include <cstdio>
#include <fstream>
#include <sstream>

// Without a name, nothing is said of what is refused.
static bool compiles(IDxcCompiler3 *compiler, const std::string &text, const char *name) {
    // As wgpu calls it: what naga writes is the language of 2018.
    const wchar_t *arguments[] = {L"-E", L"main", L"-T", L"cs_6_0", L"-HV", L"2018", L"-no-warnings"};
    const DxcBuffer source = {text.data(), text.size(), DXC_CP_UTF8};
    CComPtr<IDxcResult> result;
    HRESULT status = compiler->Compile(&source, arguments, sizeof arguments / sizeof *arguments, nullptr, IID_PPV_ARGS(&result));
    CComPtr<IDxcBlob> code;
    if (SUCCEEDED(status) && SUCCEEDED(result->GetStatus(&status)) && SUCCEEDED(status) &&
        SUCCEEDED(result->GetOutput(DXC_OUT_OBJECT, IID_PPV_ARGS(&code), nullptr)) && code && code->GetBufferSize() > 0) {
        return true;
    }
    if (!name) {
        return false;
    }
    CComPtr<IDxcBlobUtf8> errors;
    if (result) {
        result->GetOutput(DXC_OUT_ERRORS, IID_PPV_ARGS(&errors), nullptr);
    }
    fprintf(stderr, "%s: %s\n", name, errors ? errors->GetStringPointer() : "refused without a reason");
    return false;
}

int main(int count, char **arguments) {
    if (count < 3) {
        fprintf(stderr, "usage: compile LIBRARY FILE...\n");
        return 64;
    }
    void *library = dlopen(arguments[1], RTLD_NOW);
    auto create = library ? reinterpret_cast<DxcCreateInstanceProc>(dlsym(library, "DxcCreateInstance")) : nullptr;
    CComPtr<IDxcCompiler3> compiler;
    if (!create || FAILED(create(CLSID_DxcCompiler, IID_PPV_ARGS(&compiler)))) {
        fprintf(stderr, "%s: no compiler of HLSL\n", arguments[1]);
        return 64;
    }
    if (compiles(compiler, "[numthreads(1, 1, 1)] void main() { wrong }", nullptr)) {
        fprintf(stderr, "the compiler takes everything\n");
        return 1;
    }
    int refused = 0;
    for (int at = 2; at < count; at++) {
        std::ostringstream text;
        text << std::ifstream(arguments[at]).rdbuf();
        refused += !compiles(compiler, text.str(), arguments[at]);
    }
    printf("%d kernels compile to DXIL, %d are refused\n", count - 2 - refused, refused);
    return refused > 0;
}
