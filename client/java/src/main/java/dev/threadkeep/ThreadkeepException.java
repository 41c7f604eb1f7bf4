package dev.threadkeep;

import com.google.protobuf.Any;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
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
import java.util.Set;
import java.util.function.Predicate;

/**
 * Every way a call can fail. Tell them apart by {@link #reason()}: {@code if (e.reason() == ErrorReason.ERROR_REASON_SESSION_NOT_FOUND)}.
 * Only errors whose code is UNAVAILABLE, or that bear {@link #retryAfter()}, are worth an unchanged retry.
 */
public final class ThreadkeepException extends RuntimeException {
  private static final long serialVersionUID = 1L;
  private static final String PREFIX = "ERROR_REASON_";
  private static final String DOMAIN = "threadkeep.dev";

  /** Codes that stand for one reason alone, so that a timeout is DEADLINE_EXCEEDED whoever noticed it. */
  private static final Set<Status.Code> SAY_IT_ALONE =
      Set.of(Status.Code.DEADLINE_EXCEEDED, Status.Code.UNAUTHENTICATED, Status.Code.PERMISSION_DENIED, Status.Code.INTERNAL);

  /** The canonical code. */
  private final Status.Code code;

  /** The reason and its metadata; the default where no Threadkeep server gave one: a proxy's has another domain. */
  private final ErrorInfo info;

  /** The fields that are not valid; the default where the server named none. */
  private final BadRequest invalid;

  /** When to retry; the default where the server did not say. */
  private final RetryInfo retry;

  private ThreadkeepException(Status status, List<Any> details) {
    super(status.getDescription() == null ? status.getCode().name() : status.getDescription(), status.getCause());
    this.code = status.getCode();
    this.info = detail(details, ErrorInfo.getDefaultInstance(), each -> each.getDomain().equals(DOMAIN));
    this.invalid = detail(details, BadRequest.getDefaultInstance(), each -> true);
    this.retry = detail(details, RetryInfo.getDefaultInstance(), each -> true);
  }

  /** An error that the client itself found. */
  static ThreadkeepException of(Status.Code code, String message) {
    return new ThreadkeepException(code.toStatus().withDescription(message), List.of());
  }

  /** An error that the client itself found, with the reason that the server would give. */
  static ThreadkeepException of(Status.Code code, ErrorReason reason, String message) {
    var info = ErrorInfo.newBuilder().setDomain(DOMAIN).setReason(reason.name().substring(PREFIX.length())).build();
    return new ThreadkeepException(code.toStatus().withDescription(message), List.of(Any.pack(info)));
  }

  /** What a call ended with. The words for an unavailable server are the caller's, who knows its address. */
  static ThreadkeepException of(Status status, Metadata trailers) {
    try {
      return new ThreadkeepException(status, StatusProto.fromStatusAndTrailers(status, trailers).getDetailsList());
    } catch (IllegalArgumentException notOurs) {
      return new ThreadkeepException(status, List.of());
    }
  }

  /**
   * The typed error for what a generated stub on {@link ThreadkeepClient#channel()} threw or was told.
   *
   * @param error a StatusRuntimeException or StatusException, or any other error, which then has the code UNKNOWN
   * @return the error, or the same one if it is a ThreadkeepException already
   */
  public static ThreadkeepException from(Throwable error) {
    if (error instanceof ThreadkeepException typed) {
      return typed;
    }
    return of(Status.fromThrowable(error), Status.trailersFromThrowable(error));
  }

  /**
   * Why it failed.
   *
   * @return the reason; ERROR_REASON_UNSPECIFIED if no Threadkeep server gave one, UNRECOGNIZED if the server is newer than this SDK
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
   * @return its name in ErrorReason without the prefix, for example "SESSION_NOT_FOUND"; empty if no Threadkeep server gave one
   */
  public String reasonName() {
    return isOfServer() ? info.getReason() : SAY_IT_ALONE.contains(code) ? code.name() : "";
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
    return info.getMetadataMap();
  }

  /**
   * The fields of the request that are not valid, and why.
   *
   * @return the violations, empty for errors of other kinds
   */
  public List<BadRequest.FieldViolation> fields() {
    return invalid.getFieldViolationsList();
  }

  /**
   * How long the server asks to be left alone before a retry.
   *
   * @return the delay, empty if the server did not say
   */
  public Optional<Duration> retryAfter() {
    var delay = retry.getRetryDelay();
    return retry.hasRetryDelay() ? Optional.of(Duration.ofSeconds(delay.getSeconds(), delay.getNanos())) : Optional.empty();
  }

  /** Whether a server of Threadkeep said why. */
  boolean isOfServer() {
    return !info.getReason().isEmpty();
  }

  /** The first detail of the type of {@code none} that is wanted. A malformed one is skipped: it must not hide the error. */
  private static <M extends Message> M detail(List<Any> details, M none, Predicate<M> wanted) {
    for (Any detail : details) {
      try {
        if (detail.isSameTypeAs(none) && wanted.test(detail.unpackSameTypeAs(none))) {
          return detail.unpackSameTypeAs(none);
        }
      } catch (InvalidProtocolBufferException malformed) {
        continue;
      }
    }
    return none;
  }
}
