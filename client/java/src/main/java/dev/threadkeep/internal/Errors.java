package dev.threadkeep.internal;

import com.google.protobuf.Any;
import com.google.rpc.ErrorInfo;
import dev.threadkeep.Reason;
import dev.threadkeep.ThreadkeepException;
import dev.threadkeep.v1.AppendError;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;

/** Errors of this SDK. */
public final class Errors {
  private static final String DOMAIN = "threadkeep.dev";

  private Errors() {}

  /** Returns the error of a call. */
  public static ThreadkeepException of(Status status, Metadata trailers) {
    return ThreadkeepException.from(new StatusRuntimeException(status, trailers));
  }

  /** Returns an error of the client itself. */
  public static ThreadkeepException of(Status.Code code, String message) {
    return of(code.toStatus().withDescription(message), null);
  }

  /** Returns an error of the client itself, with the reason that the server would return. */
  public static ThreadkeepException of(Status.Code code, Reason reason, String message) {
    return of(code.value(), message, ErrorInfo.newBuilder().setReason(reason.name()));
  }

  /** Returns the error of one batch in a stream of appends. */
  public static ThreadkeepException of(AppendError error) {
    var info = ErrorInfo.newBuilder().setReason(error.getReason()).putAllMetadata(error.getMetadataMap());
    return of(error.getCode(), error.getMessage(), info);
  }

  private static ThreadkeepException of(int code, String message, ErrorInfo.Builder info) {
    var status = com.google.rpc.Status.newBuilder().setCode(code).setMessage(message);
    return ThreadkeepException.from(StatusProto.toStatusRuntimeException(status.addDetails(Any.pack(info.setDomain(DOMAIN).build())).build()));
  }
}
