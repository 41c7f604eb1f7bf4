package dev.threadkeep;

import com.google.protobuf.Any;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import com.google.rpc.BadRequest;
import com.google.rpc.ErrorInfo;
import com.google.rpc.RetryInfo;
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
 * The error of a failed call. Handle it by its {@link #reason()}: {@code switch (e.reason()) { case SESSION_NOT_FOUND -> ...}}.
 * Only errors that are {@link #isTransient()} are worth an unchanged retry. The message has the reason, the code, and what the
 * server says.
 */
public final class ThreadkeepException extends RuntimeException {
  private static final long serialVersionUID = 1L;
  private static final String DOMAIN = "threadkeep.dev";

  /** Reasons of codes that map to exactly one reason, so that a timeout is DEADLINE_EXCEEDED on either side. */
  private static final Set<Status.Code> SAY_IT_ALONE =
      Set.of(Status.Code.DEADLINE_EXCEEDED, Status.Code.UNAUTHENTICATED, Status.Code.PERMISSION_DENIED, Status.Code.INTERNAL);

  /** What the server says. */
  private final String description;

  /** The canonical code. */
  private final Status.Code code;

  /** Reason and metadata; the default if there is none of a Threadkeep server. Reasons of proxies have another domain. */
  private final ErrorInfo info;

  /** Invalid fields; the default if the server named none. */
  private final BadRequest invalid;

  /** Retry delay; the default if the server specified none. */
  private final RetryInfo retry;

  /** Creates the error of a status with these details. */
  private ThreadkeepException(Status status, List<Any> details) {
    this(status, details, detail(details, ErrorInfo.getDefaultInstance(), each -> each.getDomain().equals(DOMAIN)));
  }

  private ThreadkeepException(Status status, List<Any> details, ErrorInfo info) {
    super(named(status, info) + ": " + described(status), status.getCause());
    this.description = described(status);
    this.code = status.getCode();
    this.info = info;
    this.invalid = detail(details, BadRequest.getDefaultInstance(), each -> true);
    this.retry = detail(details, RetryInfo.getDefaultInstance(), each -> true);
  }

  /** Creates the error of a call. */
  private static ThreadkeepException of(Status status, Metadata trailers) {
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
   * @return the reason; NONE if no Threadkeep server sent one, UNKNOWN_TO_SDK if the server is newer than this SDK
   */
  public Reason reason() {
    if (reasonName().isEmpty()) {
      return Reason.NONE;
    }
    try {
      return Reason.valueOf(reasonName());
    } catch (IllegalArgumentException unknown) {
      return Reason.UNKNOWN_TO_SDK;
    }
  }

  /**
   * Returns what the server says, without the reason and the code.
   *
   * @return the description
   */
  public String description() {
    return description;
  }

  /**
   * Returns the id of the request in the server's log.
   *
   * @return the id, if the server sent one; it does so with INTERNAL
   */
  public Optional<String> requestId() {
    return Optional.ofNullable(info.getMetadataMap().get("request_id"));
  }

  /**
   * Returns whether a retry of the same call can succeed.
   *
   * @return true if the server was unavailable or specified a retry delay
   */
  public boolean isTransient() {
    return code == Status.Code.UNAVAILABLE || retryAfter().isPresent();
  }

  /**
   * Returns the reason as the server sent it.
   *
   * @return its name, for example "SESSION_NOT_FOUND"; empty if no Threadkeep server sent one
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
  public List<BadRequest.FieldViolation> violations() {
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

  private static String described(Status status) {
    return status.getDescription() == null ? status.getCode().name() : status.getDescription();
  }

  /** Returns the reason, the code, and the id of the request, as far as they say something. */
  private static String named(Status status, ErrorInfo info) {
    String code = status.getCode().name();
    if (!info.getReason().isEmpty() && !info.getReason().equals(code)) {
      return info.getReason() + " (" + code + ")";
    }
    String id = info.getMetadataMap().get("request_id");
    return id == null ? code : code + " (request " + id + ")";
  }

  /**
   * Returns whether the error has a reason of a Threadkeep server, and is not one of a proxy or of gRPC in this process.
   *
   * @return true if it has
   */
  public boolean isOfServer() {
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
