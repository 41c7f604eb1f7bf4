package dev.recollect;

import com.google.protobuf.Any;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import com.google.rpc.BadRequest;
import com.google.rpc.ErrorInfo;
import com.google.rpc.RetryInfo;
import dev.recollect.v1.ErrorReason;
import io.grpc.Metadata;
import io.grpc.Status;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Every way a call can fail. Tell them apart by {@link #reason()}: {@code if (e.reason() == ErrorReason.ERROR_REASON_SESSION_NOT_FOUND)}.
 * Only errors whose code is UNAVAILABLE, or that bear {@link #retryAfter()}, are worth an unchanged retry.
 */
public final class RecollectException extends RuntimeException {
  private static final long serialVersionUID = 1L;
  private static final String PREFIX = "ERROR_REASON_";
  private static final Metadata.Key<byte[]> DETAILS = Metadata.Key.of("grpc-status-details-bin", Metadata.BINARY_BYTE_MARSHALLER);

  /** The canonical code. */
  private final Status.Code code;

  /** Whether a server of Recollect said why; nothing of that is serialized. */
  private final boolean ofServer;

  private final transient ErrorInfo info;
  private final transient List<BadRequest.FieldViolation> fields;
  private final transient Duration retryAfter;

  private RecollectException(
      Status status, String message, Optional<ErrorInfo> info, List<BadRequest.FieldViolation> fields, Duration retryAfter) {
    super(message, status.getCause());
    this.code = status.getCode();
    this.ofServer = info.isPresent();
    this.info = info.orElseGet(() -> reasonOf(status.getCode()));
    this.fields = fields;
    this.retryAfter = retryAfter;
  }

  /** An error that the client itself found. */
  static RecollectException of(Status.Code code, String message) {
    return new RecollectException(code.toStatus(), message, Optional.empty(), List.of(), null);
  }

  /** What a call ended with. The words for an unavailable server are the caller's, who knows its address. */
  static RecollectException of(Status status, Metadata trailers) {
    List<Any> details = details(trailers);
    var info = detail(details, ErrorInfo.class);
    var fields = detail(details, BadRequest.class).map(BadRequest::getFieldViolationsList).orElse(List.of());
    var retryAfter = detail(details, RetryInfo.class).map(RetryInfo::getRetryDelay);
    String message = status.getDescription() == null ? status.getCode().name() : status.getDescription();
    return new RecollectException(
        status,
        message,
        info,
        fields,
        retryAfter.map(delay -> Duration.ofSeconds(delay.getSeconds(), delay.getNanos())).orElse(null));
  }

  /**
   * The typed error for what a generated stub on {@link Recollect#channel()} threw or was told.
   *
   * @param error a StatusRuntimeException or StatusException, or any other error, which then has the code UNKNOWN
   * @return the error, or the same one if it is a RecollectException already
   */
  public static RecollectException from(Throwable error) {
    if (error instanceof RecollectException typed) {
      return typed;
    }
    Metadata trailers = Status.trailersFromThrowable(error);
    return of(Status.fromThrowable(error), trailers == null ? new Metadata() : trailers);
  }

  /**
   * Why it failed.
   *
   * @return the reason; ERROR_REASON_UNSPECIFIED if no Recollect server gave one, UNRECOGNIZED if the server is newer than this SDK
   */
  public ErrorReason reason() {
    if (reasonName().isEmpty()) {
      return ErrorReason.ERROR_REASON_UNSPECIFIED;
    }
    try {
      return ErrorReason.valueOf(PREFIX + reasonName());
    } catch (IllegalArgumentException unknown) {
      return ErrorReason.UNRECOGNIZED;
    }
  }

  /**
   * The reason as the server wrote it.
   *
   * @return its name in ErrorReason without the prefix, for example "SESSION_NOT_FOUND"; empty if no Recollect server gave one
   */
  public String reasonName() {
    return info == null ? "" : info.getReason();
  }

  /**
   * The canonical code.
   *
   * @return the gRPC status code
   */
  public Status.Code code() {
    return code;
  }

  /**
   * What the reason tells beside its name; the keys are documented with each value of ErrorReason.
   *
   * @return texts by key, never null
   */
  public Map<String, String> metadata() {
    return info == null ? Map.of() : info.getMetadataMap();
  }

  /**
   * The fields of the request that are not valid, and why.
   *
   * @return the violations, empty for errors of other kinds
   */
  public List<BadRequest.FieldViolation> fields() {
    return fields == null ? List.of() : fields;
  }

  /**
   * How long the server asks to be left alone before a retry.
   *
   * @return the delay, empty if the server did not say
   */
  public Optional<Duration> retryAfter() {
    return Optional.ofNullable(retryAfter);
  }

  /** Whether a server of Recollect said why. */
  boolean isOfServer() {
    return ofServer;
  }

  /** The same error in other words. */
  RecollectException reworded(Status.Code newCode, String message) {
    Status status = newCode.toStatus().withCause(getCause());
    return new RecollectException(status, message, Optional.empty(), fields, retryAfter);
  }

  /** What the code alone says of the reason, so that a timeout is DEADLINE_EXCEEDED whoever noticed it. */
  private static ErrorInfo reasonOf(Status.Code code) {
    return switch (code) {
      case DEADLINE_EXCEEDED, UNAUTHENTICATED, PERMISSION_DENIED, INTERNAL -> ErrorInfo.newBuilder().setReason(code.name()).build();
      default -> ErrorInfo.getDefaultInstance();
    };
  }

  private static List<Any> details(Metadata trailers) {
    byte[] packed = trailers.get(DETAILS);
    try {
      return packed == null ? List.of() : com.google.rpc.Status.parseFrom(packed).getDetailsList();
    } catch (InvalidProtocolBufferException notOurs) {
      return List.of();
    }
  }

  private static <M extends Message> Optional<M> detail(List<Any> details, Class<M> type) {
    for (Any detail : details) {
      try {
        if (detail.is(type)) {
          return Optional.of(detail.unpack(type));
        }
      } catch (InvalidProtocolBufferException broken) {
        return Optional.empty();
      }
    }
    return Optional.empty();
  }
}
