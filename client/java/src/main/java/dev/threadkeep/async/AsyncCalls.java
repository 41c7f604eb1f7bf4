package dev.threadkeep.async;

import dev.threadkeep.ThreadkeepClient;
import dev.threadkeep.internal.operations.Operation;
import dev.threadkeep.internal.operations.Running;
import dev.threadkeep.internal.operations.StateOperations;
import dev.threadkeep.v1.SessionRef;
import io.grpc.Channel;
import io.grpc.MethodDescriptor;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;

/** Calls of an asynchronous client, by the connection of a blocking one. */
abstract sealed class AsyncCalls implements AutoCloseable permits AsyncThreadkeepClient {
  final ThreadkeepClient client;

  /** App and user of the client, without a session. */
  final SessionRef whose;

  AsyncCalls(ThreadkeepClient client) {
    this.client = client;
    this.whose = client.ref("");
  }

  /** Starts an operation. */
  final <T> CompletableFuture<T> start(Supplier<Operation<T>> operation) {
    return Running.start(client::callAsync, operation);
  }

  /** Closes the connection, which takes 5 seconds at most. Active calls and watches fail with code CANCELLED. */
  @Override
  public void close() {
    client.close();
  }

  /**
   * Returns the session with this id, of the client's app and user.
   *
   * @param sessionId id of the session
   * @return the complete reference
   */
  public SessionRef ref(String sessionId) {
    return client.ref(sessionId);
  }

  /**
   * Returns the channel for generated stubs. See {@link ThreadkeepClient#channel()}.
   *
   * @return the channel, which the client closes
   */
  public Channel channel() {
    return client.channel();
  }

  /**
   * Calls a unary method of threadkeep.v1. See {@link ThreadkeepClient#callAsync}.
   *
   * @param <Q> type of the request
   * @param <R> type of the response
   * @param method a method of a generated service class
   * @param request request, sent unchanged
   * @return a future of the response
   */
  public <Q, R> CompletableFuture<R> call(MethodDescriptor<Q, R> method, Q request) {
    return start(() -> Operation.of(method, request));
  }

  /**
   * Returns a handle on the state of this client's user in its app, without a call.
   *
   * @return the handle
   */
  public AsyncStateHandle userState() {
    return userState(whose.getUserId());
  }

  /**
   * Returns a handle on the state of a user in this client's app, without a call.
   *
   * @param userId the user
   * @return the handle
   */
  public AsyncStateHandle userState(String userId) {
    return new AsyncStateHandle(this, StateOperations.Scope.user(whose, userId));
  }

  /**
   * Returns a handle on the state of this client's app, which all its users share, without a call.
   *
   * @return the handle
   */
  public AsyncStateHandle appState() {
    return appState(whose.getApp());
  }

  /**
   * Returns a handle on the state of an app, without a call.
   *
   * @param app the app
   * @return the handle
   */
  public AsyncStateHandle appState(String app) {
    return new AsyncStateHandle(this, StateOperations.Scope.app(app));
  }
}
