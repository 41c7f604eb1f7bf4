package dev.threadkeep;

import dev.threadkeep.v1.SessionRef;
import io.grpc.Channel;
import io.grpc.MethodDescriptor;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;

/** What a client calls with, whatever the method: its connection, its app and user, its time limit. */
abstract sealed class Calls implements AutoCloseable permits ThreadkeepClient {
  final Connection connection;

  /** The client's app and user; no session. */
  final SessionRef whose;

  private final Duration timeout;

  Calls(Connection connection, SessionRef whose, Duration timeout) {
    this.connection = connection;
    this.whose = whose;
    this.timeout = timeout;
  }

  /** Closes the connection; calls and watches under way fail with the code CANCELLED. Closing twice does nothing. */
  @Override
  public void close() {
    connection.close();
  }

  /**
   * The session of this client's app and user.
   *
   * @param sessionId its id
   * @return the whole reference
   */
  public SessionRef ref(String sessionId) {
    return whose.toBuilder().setSessionId(sessionId).build();
  }

  /**
   * The channel for generated stubs, with this client's credential and retries. Set deadlines yourself, and read errors with
   * {@link ThreadkeepException#from}.
   *
   * @return the channel; it is this client's to close
   */
  public Channel channel() {
    return connection.channel();
  }

  /**
   * Calls any unary method of threadkeep.v1, for example {@code client.call(SessionServiceGrpc.getGetSessionMethod(), request)}.
   *
   * @param <Q> the request
   * @param <R> the response
   * @param method a method of a generated service class
   * @param request the request, sent as it is
   * @return the response
   */
  public <Q, R> R call(MethodDescriptor<Q, R> method, Q request) {
    return connection.call(method, request, timeout);
  }

  /**
   * The same without waiting. Give events that are appended their ids, with {@link Events#withIds(List)}.
   *
   * @param <Q> the request
   * @param <R> the response
   * @param method a method of a generated service class
   * @param request the request, sent as it is
   * @return the response to come, or a ThreadkeepException; canceling it cancels the call
   */
  public <Q, R> CompletableFuture<R> callAsync(MethodDescriptor<Q, R> method, Q request) {
    return connection.callAsync(method, request, timeout);
  }
}
