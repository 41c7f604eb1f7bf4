# Generated code: what each language's stubs, the API reference and the JSON schemas are made with, and from what.
# Every tool is pinned below tools/gen; GEN holds what was installed of it, after which generating needs no network.
GEN := .gen
OUT := $(GEN)/out
SET := $(OUT)/set.binpb
PROTOS := $(sort $(wildcard proto/threadkeep/v1/*.proto))
PROTO_NAMES := $(PROTOS:proto/%=%)
PY_OUT := client/python
TS_OUT := client/typescript/src/gen
GO_OUT := client/go
JAVA_OUT := client/java/src/generated/java
RUST_OUT := client/rust/src/gen
REFERENCE := docs/reference
DIGESTS := tools/gen/digests.txt
GENERATED := $(PY_OUT)/threadkeep/v1 $(TS_OUT) $(GO_OUT)/threadkeep $(JAVA_OUT) $(RUST_OUT) $(REFERENCE)
GO_MODULE := github.com/threadkeep/threadkeep-go
JAVA_OS := $(if $(filter Darwin,$(shell uname -s)),osx,linux)-$(if $(filter x86_64,$(shell uname -m)),x86_64,aarch_64)
PROTOC := $(GEN)/python/bin/python -m grpc_tools.protoc
# Generators read the descriptor set, not the files, so that all of them see the same thing; but for Python, whose stubs hold the
# descriptors' bytes, which protoc writes shorter from the files.
FROM_SET := --descriptor_set_in=$(SET)

$(GEN)/python/.ready: tools/gen/requirements.txt | $(STAMP)
	$(PYTHON) -m venv $(GEN)/python
	$(BIN)/uv pip install --quiet --python $(GEN)/python/bin/python --require-hashes -r $<
	touch $@

$(GEN)/typescript/.ready: tools/gen/typescript/package.json tools/gen/typescript/package-lock.json
	mkdir -p $(@D) && cp $^ $(@D)
	cd $(@D) && npm ci --silent --no-audit --no-fund
	touch $@

$(GEN)/go/.ready: tools/gen/go/go.mod tools/gen/go/go.sum
	mkdir -p $(@D)
	cd tools/gen/go && GOBIN=$(abspath $(@D)) go install tool
	touch $@

$(GEN)/java/.ready: tools/gen/java/pom.xml
	mkdir -p $(@D)
	mvn --quiet --batch-mode --file $< dependency:copy-dependencies -Dos.classifier=$(JAVA_OS) -DoutputDirectory=$(abspath $(@D)) \
	  -Dmdep.stripVersion=true
	chmod +x $(@D)/*.exe
	touch $@

$(GEN)/rust/.ready: tools/gen/rust/Cargo.toml tools/gen/rust/src/main.rs
	cargo build --quiet --manifest-path $< --target-dir $(@D)
	touch $@

.PHONY: gen-tools
gen-tools: $(foreach language,python typescript go java rust,$(GEN)/$(language)/.ready)

.PHONY: generate
.SILENT: generate gen-tools
generate: gen-tools
	echo "==> generating from proto/threadkeep/v1"
	rm -rf $(OUT)
	mkdir -p $(addprefix $(OUT)/,$(PY_OUT) $(TS_OUT) $(GO_OUT) $(JAVA_OUT) $(RUST_OUT) $(REFERENCE)/schema)
	$(PROTOC) -Iproto --include_imports --include_source_info --descriptor_set_out=$(SET) $(PROTOS)
	$(PROTOC) -Iproto --plugin=protoc-gen-mypy=$(GEN)/python/bin/protoc-gen-mypy \
	  --plugin=protoc-gen-mypy_grpc=$(GEN)/python/bin/protoc-gen-mypy_grpc --python_out=$(OUT)/$(PY_OUT) \
	  --grpc_python_out=$(OUT)/$(PY_OUT) --mypy_out=quiet:$(OUT)/$(PY_OUT) --mypy_grpc_out=quiet:$(OUT)/$(PY_OUT) $(PROTOS)
	find $(OUT)/$(PY_OUT) -name '*_pb2_grpc.py*' ! -name '*_service_pb2_grpc.py*' -delete
	printf '"""Generated from proto/threadkeep/v1 by `make proto`. Do not edit."""\n' > $(OUT)/$(PY_OUT)/threadkeep/v1/__init__.py
	$(PROTOC) $(FROM_SET) --plugin=protoc-gen-es=$(GEN)/typescript/node_modules/.bin/protoc-gen-es --es_out=$(OUT)/$(TS_OUT) \
	  --es_opt=target=ts,import_extension=js $(PROTO_NAMES)
	$(PROTOC) $(FROM_SET) --plugin=$(GEN)/go/protoc-gen-go --plugin=$(GEN)/go/protoc-gen-go-grpc --go_out=$(OUT)/$(GO_OUT) \
	  --go-grpc_out=$(OUT)/$(GO_OUT) --go_opt=module=$(GO_MODULE) --go-grpc_opt=module=$(GO_MODULE) $(PROTO_NAMES)
	$(GEN)/java/protoc-$(JAVA_OS).exe $(FROM_SET) --plugin=protoc-gen-grpc-java=$(GEN)/java/protoc-gen-grpc-java-$(JAVA_OS).exe \
	  --java_out=$(OUT)/$(JAVA_OUT) --grpc-java_out=@generated=omit:$(OUT)/$(JAVA_OUT) $(PROTO_NAMES)
	$(GEN)/python/bin/python tools/gen/reasons.py $(SET) $(OUT)/$(JAVA_OUT)
	$(GEN)/rust/debug/threadkeep-gen $(SET) $(OUT)/$(RUST_OUT)
	$(PROTOC) $(FROM_SET) --plugin=$(GEN)/go/protoc-gen-jsonschema --jsonschema_out=$(OUT)/$(REFERENCE)/schema \
	  --jsonschema_opt=target=json $(PROTO_NAMES)
	$(PROTOC) $(FROM_SET) --plugin=$(GEN)/go/protoc-gen-doc --doc_out=$(OUT)/$(REFERENCE) \
	  --doc_opt=tools/gen/reference.tmpl,api.md:google/* $(PROTO_NAMES)
	$(GEN)/python/bin/python tools/gen/roles.py $(SET) $(OUT)/$(PY_OUT) $(OUT)/$(REFERENCE)/api.md

# What did not change is left alone, so that nothing is built again for it.
.PHONY: proto
proto: generate ## Generate the stubs of all five languages, the API reference and the JSON schemas from proto/
	@for place in $(GENERATED); do \
	  if ! diff -rq -x __pycache__ $(OUT)/$$place $$place > /dev/null 2>&1; then \
	    echo "==> $$place changed"; rm -rf $$place; mkdir -p $$(dirname $$place); cp -r $(OUT)/$$place $$place; \
	  fi; \
	done
	@$(PYTHON) tools/gen/digests.py $(DIGESTS) $(GENERATED)

# The long form generates all again.
.PHONY: check-gen
ifeq ($(THREADKEEP_LONG),1)
check-gen: generate
	@for place in $(GENERATED); do diff -rq -x __pycache__ $(OUT)/$$place $$place \
	  || { echo "$$place is not what the protos say: run make proto, and commit it" >&2; exit 1; }; done
endif
check-gen: ## Fail if generated code or the protos changed since `make proto` (THREADKEEP_LONG=1 generates it again)
	@$(PYTHON) tools/gen/digests.py --check $(DIGESTS) $(GENERATED)
