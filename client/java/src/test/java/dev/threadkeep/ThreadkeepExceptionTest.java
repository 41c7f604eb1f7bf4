package dev.threadkeep;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import com.google.protobuf.Any;
import com.google.protobuf.ByteString;
import com.google.rpc.BadRequest;
import com.google.rpc.ErrorInfo;
import com.google.rpc.RetryInfo;
import dev.threadkeep.v1.ErrorReason;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.protobuf.StatusProto;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class ThreadkeepExceptionTest {
  private static final Metadata.Key<byte[]> DETAILS = Metadata.Key.of("grpc-status-details-bin", Metadata.BINARY_BYTE_MARSHALLER);

  @Test
  void errorHasTheServersDetails() {
    var info = ErrorInfo.newBuilder().setReason("INVALID_FIELD").setDomain("threadkeep.dev").putMetadata("field", "filter.last_n");
    var violation = BadRequest.FieldViolation.newBuilder().setField("filter.last_n").setDescription("must be at least 1");
    var delay = com.google.protobuf.Duration.newBuilder().setSeconds(1).setNanos(500_000_000);
    var error =
        ThreadkeepException.from(
            FakeServer.error(
                Status.Code.INVALID_ARGUMENT,
                "filter.last_n must be at least 1",
                info.build(),
                BadRequest.newBuilder().addFieldViolations(violation).build(),
                RetryInfo.newBuilder().setRetryDelay(delay).build()));
    assertEquals(Reason.INVALID_FIELD, error.reason());
    assertEquals("INVALID_FIELD", error.reasonName());
    assertEquals(Status.Code.INVALID_ARGUMENT, error.code());
    assertEquals("filter.last_n must be at least 1", error.description());
    assertEquals("INVALID_FIELD (INVALID_ARGUMENT): filter.last_n must be at least 1", error.getMessage());
    assertEquals(Map.of("field", "filter.last_n"), error.metadata());
    assertEquals(List.of(violation.build()), error.violations());
    assertEquals(Optional.of(Duration.ofMillis(1500)), error.retryAfter());
    assertSame(error, ThreadkeepException.from(error));
  }

  @Test
  void reasonOfANewerServerIsKeptAsText() {
    var error = ThreadkeepException.from(FakeServer.error(Status.Code.ABORTED, "no", FakeServer.reason("MOON_PHASE")));
    assertEquals(Reason.UNKNOWN_TO_SDK, error.reason());
    assertEquals("MOON_PHASE", error.reasonName());
  }

  @Test
  void reasonOfAnotherDomainIsIgnored() {
    var proxys = FakeServer.reason("SESSION_NOT_FOUND", "proxy.example").toBuilder().putMetadata("session_id", "s").build();
    var error = ThreadkeepException.from(FakeServer.error(Status.Code.UNAVAILABLE, "no", proxys));
    assertEquals(Reason.NONE, error.reason());
    assertEquals("", error.reasonName());
    assertEquals(Map.of(), error.metadata());
    var both = ThreadkeepException.from(FakeServer.error(Status.Code.UNAVAILABLE, "no", proxys, FakeServer.reason("SERVER_DRAINING")));
    assertEquals(Reason.SERVER_DRAINING, both.reason());
  }

  @Test
  void malformedDetailDoesNotHideLaterOnes() {
    var malformed = Any.newBuilder().setTypeUrl("type.googleapis.com/google.rpc.ErrorInfo").setValue(ByteString.copyFrom(new byte[] {10, 127}));
    var status = com.google.rpc.Status.newBuilder().setCode(Status.Code.NOT_FOUND.value()).addDetails(malformed);
    status.addDetails(Any.pack(FakeServer.reason("SESSION_NOT_FOUND")));
    assertEquals("SESSION_NOT_FOUND", ThreadkeepException.from(StatusProto.toStatusRuntimeException(status.build())).reasonName());
  }

  @Test
  void reasonWithoutDetailsComesFromTheCode() {
    var plain = ThreadkeepException.from(Status.ABORTED.withDescription("no").asRuntimeException());
    assertEquals(Reason.NONE, plain.reason());
    assertEquals("", plain.reasonName());
    assertEquals(Map.of(), plain.metadata());
    assertEquals(List.of(), plain.violations());
    assertEquals(Optional.empty(), plain.retryAfter());
    assertEquals(
        Reason.DEADLINE_EXCEEDED, ThreadkeepException.from(Status.DEADLINE_EXCEEDED.asRuntimeException()).reason());
  }

  @Test
  void malformedDetailsAreIgnored() {
    var trailers = new Metadata();
    trailers.put(DETAILS, new byte[] {1, 2, 3});
    var error = ThreadkeepException.from(Status.NOT_FOUND.withDescription("gone").asRuntimeException(trailers));
    assertEquals(Status.Code.NOT_FOUND, error.code());
    assertEquals("gone", error.description());
    assertEquals("NOT_FOUND: gone", error.getMessage());
    assertEquals("", error.reasonName());
  }

  @Test
  void anyErrorIsConverted() {
    var error = ThreadkeepException.from(new IllegalStateException("odd"));
    assertEquals(Status.Code.UNKNOWN, error.code());
    assertSame(IllegalStateException.class, error.getCause().getClass());
  }

  @Test
  void internalErrorHasTheIdOfItsRequest() {
    var info = FakeServer.reason("INTERNAL").toBuilder().putMetadata("request_id", "r7").build();
    var error = ThreadkeepException.from(FakeServer.error(Status.Code.INTERNAL, "oops", info));
    assertEquals(Optional.of("r7"), error.requestId());
    assertEquals("INTERNAL (request r7): oops", error.getMessage());
  }

  @Test
  void everyReasonOfTheProtocolIsAReason() {
    for (ErrorReason reason : ErrorReason.values()) {
      if (reason != ErrorReason.UNRECOGNIZED && reason != ErrorReason.ERROR_REASON_UNSPECIFIED) {
        Reason.valueOf(reason.name().substring("ERROR_REASON_".length()));
      }
    }
  }
}
