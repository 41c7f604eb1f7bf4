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
 * The error of a failed call. Handle it by its {@link #reason()}: {@code if (e.reason() ==
 * ErrorReason.ERROR_REASON_SESSION_NOT_FOUND)}. Only errors of code UNAVAILABLE and errors with {@link #retryAfter()} are worth
 * an unchanged retry.
 */
public final class ThreadkeepException extends RuntimeException {
  private static final long serialVersionUID = 1L;
  private static final String PREFIX = "ERROR_REASON_";
  private static final String DOMAIN = "threadkeep.dev";

  /** Reasons of codes that map to exactly one reason, so that a timeout is DEADLINE_EXCEEDED on either side. */
  private static final Set<Status.Code> SAY_IT_ALONE =
      Set.of(Status.Code.DEADLINE_EXCEEDED, Status.Code.UNAUTHENTICATED, Status.Code.PERMISSION_DENIED, Status.Code.INTERNAL);

  /** The canonical code. */
  private final Status.Code code;

  /** Reason and metadata; the default if there is none of a Threadkeep server. Reasons of proxies have another domain. */
  private final ErrorInfo info;

  /** Invalid fields; the default if the server named none. */
  private final BadRequest invalid;

  /** Retry delay; the default if the server specified none. */
  private final RetryInfo retry;

  private ThreadkeepException(Status status, List<Any> details) {
    super(status.getDescription() == null ? status.getCode().name() : status.getDescription(), status.getCause());
    this.code = status.getCode();
    this.info = detail(details, ErrorInfo.getDefaultInstance(), each -> each.getDomain().equals(DOMAIN));
    this.invalid = detail(details, BadRequest.getDefaultInstance(), each -> true);
    this.retry = detail(details, RetryInfo.getDefaultInstance(), each -> true);
  }

  /** Creates an error of the client itself. */
  static ThreadkeepException of(Status.Code code, String message) {
    return new ThreadkeepException(code.toStatus().withDescription(message), List.of());
  }

  /** Creates an error of the client itself, with the reason that the server would return. */
  static ThreadkeepException of(Status.Code code, ErrorReason reason, String message) {
    var info = ErrorInfo.newBuilder().setDomain(DOMAIN).setReason(reason.name().substring(PREFIX.length())).build();
    return new ThreadkeepException(code.toStatus().withDescription(message), List.of(Any.pack(info)));
  }

  /** Creates the error of a call. The caller supplies the message for an unavailable server, because it knows the address. */
  static ThreadkeepException of(Status status, Metadata trailers) {
    try {
      return new ThreadkeepException(status, StatusProto.fromStatusAndTrailers(status, trailers).getDetailsList());
    } catch (IllegalArgumentException notOurs) {
      return new ThreadkeepException(status, List.of());
    }
  }

  /**
   * Converts the error of a generated stub on {@link ThreadkeepClient#channel()}.
   *
   * @param error a StatusRuntimeException or StatusException, or any other error, which then has the code UNKNOWN
   * @return the error, or the same one if it is already a ThreadkeepException
   */
  public static ThreadkeepException from(Throwable error) {
    if (error instanceof ThreadkeepException typed) {
      return typed;
    }
    return of(Status.fromThrowable(error), Status.trailersFromThrowable(error));
  }

  /**
   * Returns the reason.
   *
   * @return the reason; ERROR_REASON_UNSPECIFIED if no Threadkeep server sent one, UNRECOGNIZED if the server is newer than
   * this SDK
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
   * Returns the reason as the server sent it.
   *
   * @return its name in ErrorReason without the prefix, for example "SESSION_NOT_FOUND"; empty if no Threadkeep server sent one
   */
  public String reasonName() {
    return isOfServer() ? info.getReason() : SAY_IT_ALONE.contains(code) ? code.name() : "";
  }

  /**
   * Returns the canonical code.
   *
   * @return the gRPC status code
   */
  public Status.Code code() {
    return code;
  }

  /**
   * Returns the metadata of the reason; each value of ErrorReason documents its keys.
   *
   * @return texts by key, never null
   */
  public Map<String, String> metadata() {
    return info.getMetadataMap();
  }

  /**
   * Returns the invalid fields of the request, with descriptions.
   *
   * @return the violations, empty for other errors
   */
  public List<BadRequest.FieldViolation> fields() {
    return invalid.getFieldViolationsList();
  }

  /**
   * Returns the delay that the server specifies before a retry.
   *
   * @return the delay, empty if the server specified none
   */
  public Optional<Duration> retryAfter() {
    var delay = retry.getRetryDelay();
    return retry.hasRetryDelay() ? Optional.of(Duration.ofSeconds(delay.getSeconds(), delay.getNanos())) : Optional.empty();
  }

  /** Returns whether a Threadkeep server sent the reason. */
  boolean isOfServer() {
    return !info.getReason().isEmpty();
  }

  /** Returns the first detail with the type of {@code none}. A malformed one is skipped, so that it does not hide the error. */
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
