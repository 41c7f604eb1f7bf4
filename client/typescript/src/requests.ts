// The types that the methods of Client and UserMemory share.

import type { DescMessage, DescService, MessageInitShape } from "@bufbuild/protobuf";
import type { CallOptions, Client as ServiceClient } from "@connectrpc/connect";

import type { SessionRefSchema } from "./gen/threadkeep/v1/session_pb.js";

/** A session: an id, which the client completes with its app and user, or a complete SessionRef. */
export type SessionLike = string | MessageInitShape<typeof SessionRefSchema>;

/** The fields of a request except those that the client sets, and the options of the call, such as `timeoutMs` and `signal`. */
export type Fields<Desc extends DescMessage, Filled extends string> = Omit<MessageInitShape<Desc>, "$typeName" | "$unknown" | Filled> & CallOptions;

/** Calls the RPCs of a service; see `Client.service`. */
export interface ServiceCaller {
  service<S extends DescService>(service: S): ServiceClient<S>;
}
