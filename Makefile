# Tests that need a kernel of their own; everything else is cargo's (see
# CONTRIBUTING.md). `make vm-test CHECKS='20-*' KERNELS=6.1`: tests/vm/README.md.

vm-test vm-test-short vm-clean:
	@$(MAKE) --no-print-directory -C tests/vm $@

.PHONY: vm-test vm-test-short vm-clean
