"""How runs fail: the modes, mechanical detectors, proposals and what people confirm of them."""
