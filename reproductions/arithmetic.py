"""The same arithmetic on every x86 processor with AVX2, so that stored runs are repeated to the last digit elsewhere.

NumPy, OpenBLAS and torch choose among versions of their routines by what the processor can do (AVX2 or AVX-512), and these
add in different orders. A difference in the last bit is enough for a search to go elsewhere some steps later.
"""

from __future__ import annotations

import os
import platform
import sys

_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
_AVX2 = {
    "OPENBLAS_CORETYPE": "Haswell",
    # As NumPy calls what is beyond AVX2, since 2.4 and before; names that it does not know do no harm.
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL",
    "ATEN_CPU_CAPABILITY": "avx2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "MKL_CBWR": "AVX2",
}


def fix_arithmetic() -> None:
    """Set the number of threads and the versions of routines, for this process and those it starts.

    To be called before NumPy is loaded. Where it is loaded already, its routines are chosen, and nothing is set: processes
    that are started from here would compute otherwise than this one.
    """
    if "numpy" in sys.modules:
        return
    os.environ.update(_ONE_THREAD | (_AVX2 if platform.machine().lower() in ("x86_64", "amd64") else {}))
