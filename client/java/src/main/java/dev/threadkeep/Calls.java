package dev.threadkeep;

import dev.threadkeep.internal.Connection;
import dev.threadkeep.internal.operations.Operation;
import dev.threadkeep.internal.operations.StateOperations;
import dev.threadkeep.v1.SessionRef;
import io.grpc.Channel;
import io.grpc.MethodDescriptor;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;

/** Calls of a client: its connection, its app and user, and its timeout. */
abstract sealed class Calls implements AutoCloseable permits ThreadkeepClient {
  final Connection connection;

  /** App and user of the client, without a session. */
  final SessionRef whose;

  private final Duration timeout;

  Calls(Connection connection, SessionRef whose, Duration timeout) {
    this.connection = connection;
    this.whose = whose;
    this.timeout = timeout;
  }

  /** Closes the connection. Active calls and watches fail with code CANCELLED. Closing twice has no effect. */
  @Override
  public void close() {
    connection.close();
  }

  /**
   * Returns the session with this id, of the client's app and user.
   *
   * @param sessionId id of the session
   * @return the complete reference
   */
  public SessionRef ref(String sessionId) {
    return whose.toBuilder().setSessionId(sessionId).build();
  }

  /**
   * Returns a handle on the state of this client's user in its app, without a call.
   *
   * @return the handle
   */
  public StateHandle userState() {
    return userState(whose.getUserId());
  }

  /**
   * Returns a handle on the state of a user in this client's app, without a call.
   *
   * @param userId the user
   * @return the handle
   */
  public StateHandle userState(String userId) {
    return new StateHandle(this, StateOperations.Scope.user(whose, userId));
  }

  /**
   * Returns a handle on the state of this client's app, which all its users share, without a call.
   *
   * @return the handle
   */
  public StateHandle appState() {
    return appState(whose.getApp());
  }

  /**
   * Returns a handle on the state of an app, without a call.
   *
   * @param app the app
   * @return the handle
   */
  public StateHandle appState(String app) {
    return new StateHandle(this, StateOperations.Scope.app(app));
  }

  /**
   * Returns the channel for generated stubs, with this client's credential and retries. Set deadlines yourself, and convert
   * errors with {@link ThreadkeepException#from}.
   *
   * @return the channel, which the client closes
   */
  public Channel channel() {
    return connection.channel();
  }

  /**
   * Calls a unary method of threadkeep.v1: {@code client.call(SessionServiceGrpc.getGetSessionMethod(), request)}.
   *
   * @param <Q> type of the request
   * @param <R> type of the response
   * @param method a method of a generated service class
   * @param request request, sent unchanged
   * @return the response
   */
  public <Q, R> R call(MethodDescriptor<Q, R> method, Q request) {
    return connection.call(method, request, timeout);
  }

  /** Runs an operation on this thread. */
  final <T> T run(Operation<T> operation) {
    return Operation.run(operation, this::call);
  }

  /**
   * Calls a unary method without waiting. Set the ids of appended events with {@link Events#withIds}.
   *
   * @param <Q> type of the request
   * @param <R> type of the response
   * @param method a method of a generated service class
   * @param request request, sent unchanged
   * @return a future of the response, which may fail with ThreadkeepException; canceling it cancels the call
   */
  public <Q, R> CompletableFuture<R> callAsync(MethodDescriptor<Q, R> method, Q request) {
    return connection.callAsync(method, request, timeout);
  }
}
