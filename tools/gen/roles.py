"""`roles.py DESCRIPTOR_SET STUBS REFERENCE`: writes the role that each method needs into the reference, whose generator does
not know our options. The template leaves `{role:Service.Method}` in their place."""

from __future__ import annotations

import re
import sys
from pathlib import Path

descriptor_set, stubs, reference = map(Path, sys.argv[1:])
sys.path.insert(0, str(stubs))

from google.protobuf.descriptor_pb2 import FileDescriptorSet  # noqa: E402

from threadkeep.v1 import access_pb2  # noqa: E402 - the stubs must be known before the set is read

roles = {
    f"{service.name}.{method.name}": access_pb2.AccessRole.Name(method.options.Extensions[access_pb2.required_role])
    for file in FileDescriptorSet.FromString(descriptor_set.read_bytes()).file
    for service in file.service
    for method in service.method
}
text = reference.read_text(encoding="utf-8")
text = re.sub(r"\{role:([\w.]+)\}", lambda found: roles[found[1]].removeprefix("ACCESS_ROLE_"), text)
reference.write_text(text, encoding="utf-8")
