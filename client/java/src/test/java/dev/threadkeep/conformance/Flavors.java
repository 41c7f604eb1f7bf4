package dev.threadkeep.conformance;

import dev.threadkeep.*;
import dev.threadkeep.async.*;
import dev.threadkeep.filter.MemoryProvider;
import dev.threadkeep.history.*;
import dev.threadkeep.options.*;
import dev.threadkeep.v1.*;
import io.grpc.MethodDescriptor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.Stream;

/** What the driver calls, of the blocking client or, with THREADKEEP_JAVA_ASYNC=1, of the asynchronous one, whose futures it awaits. */
final class Flavors {
  static final boolean ASYNC = "1".equals(System.getenv("THREADKEEP_JAVA_ASYNC"));

  private Flavors() {}

  /** The calls of both clients. */
  interface AnyClient {
    void close();
    AnyClient withTimeout(Duration limit);
    Object call(MethodDescriptor<Object, Object> method, Object request);
    AnySession session(String id);
    AnySession session(SessionRef ref);
    AnyMemory memory(MemoryScope scope);
    AnyState userState(String userId);
    AnyState appState(String app);
    AnyConsumer consumer(String name);
    Stream<?> sessions(Consumer<SessionsOptions> options);
    ListSessionsResponse sessionsPage(Consumer<SessionsOptions> options);
    Stream<?> users(Consumer<UsersOptions> options);
    Stream<?> auditRecords(Consumer<ListAuditRecordsRequest.Builder> change);
    Stream<?> userEvents(Consumer<UserEventsOptions> options);
    Stream<?> search(String query, Consumer<SearchOptions> options);
    Follower watchAll(Consumer<WatchOptions> options);
  }

  /** The calls of both handles on a session. */
  interface AnySession {
    AnySession withMemory(MemoryProvider provider);
    AnyState state();
    Session update(Consumer<UpdateOptions> options);
    Session move(String newUserId, String operationId);
    LoadSessionResponse load(Consumer<LoadSessionRequest.Builder> change);
    Appended append(List<SessionEvent> events, Consumer<AppendOptions> options);
    AnyStream appendStream(int maxOutstanding);
    GetContextResponse getContext();
    GetContextResponse getContext(MemoryProvider provider);
    Stream<?> events(Consumer<EventsOptions> options);
    Stream<?> branches();
    Stream<?> usage(Consumer<ListUsageRequest.Builder> change);
    Stream<?> compactions(int pageSize);
    CompactSessionResponse compact(Consumer<CompactOptions> options);
    Optional<ApplyCompactionResponse> compactWith(Function<SummaryPrompt, ?> summarize, Consumer<CompactOptions> options);
    ApplyCompactionResponse compactContext(GetContextResponse seen, String summary);
    PopEventsResponse pop(int count, Consumer<PopEventsRequest.Builder> change);
    ClearEventsResponse clear(Consumer<ClearEventsRequest.Builder> change);
    RewindSessionResponse rewind(Point to, Consumer<RewindSessionRequest.Builder> change);
    ForkSessionResponse fork(String id, Consumer<ForkOptions> options);
    EraseEventsResponse eraseEvents(List<String> ids, Consumer<EraseEventsRequest.Builder> change);
    EraseEventsResponse eraseInvocations(List<String> ids, Consumer<EraseEventsRequest.Builder> change);
    EraseEventsResponse eraseBranch(String branch, Consumer<EraseEventsRequest.Builder> change);
    ReplaceSuffixResponse replaceSuffix(List<String> ids, List<SessionEvent> events, Consumer<ReplaceSuffixRequest.Builder> change);
    Follower watch(Consumer<WatchOptions> options);
  }

  /** The calls of both handles on state. */
  interface AnyState {
    State get(Consumer<GetStateRequest.Builder> change);
    long patch(Consumer<StatePatch.Builder> change);
    long patch(long expectedVersion, Consumer<StatePatch.Builder> change);
  }

  /** The calls of both handles on memory. */
  interface AnyMemory {
    UpsertMemoriesResponse upsert(List<MemoryWrite> writes, Consumer<UpsertMemoriesRequest.Builder> change);
    List<Optional<MemoryEntry>> get(List<MemoryName> names, Consumer<GetMemoriesRequest.Builder> change);
    Stream<?> list(ListMemoriesRequest request);
    Stream<?> namespaces(Consumer<ListMemoryNamespacesRequest.Builder> change);
  }

  /** Both streams of appends. */
  interface AnyStream extends AutoCloseable {
    CompletableFuture<Appended> send(List<SessionEvent> events);
    @Override
    void close();
  }

  /** Both handles on a consumer. */
  interface AnyConsumer {
    ConsumerRun run(ConsumerHandle.Handler handler, Consumer<ConsumerOptions> options);
  }

  /** Returns the chosen flavor of a client. */
  static AnyClient of(ThreadkeepClient client) {
    return view(AnyClient.class, ASYNC ? client.async() : client);
  }

  /** Returns the summary as the flavor takes it from the caller's model. */
  static Object summary(String text) {
    return ASYNC ? CompletableFuture.completedFuture(text) : text;
  }

  private static ConsumerHandle.AsyncHandler async(ConsumerHandle.Handler handler) {
    return delivery -> {
      try {
        handler.handle(delivery);
        return CompletableFuture.completedFuture(null);
      } catch (Exception failure) {
        return CompletableFuture.failedFuture(failure);
      }
    };
  }

  private static <T> T view(Class<T> kind, Object target) {
    return kind.cast(Proxy.newProxyInstance(kind.getClassLoader(), new Class<?>[] {kind}, (proxy, method, args) -> called(method, target, args)));
  }

  private static Object called(Method method, Object target, Object[] args) throws Throwable {
    var types = method.getParameterTypes();
    if (target instanceof AsyncConsumerHandle) {
      types[0] = ConsumerHandle.AsyncHandler.class;
      args[0] = async((ConsumerHandle.Handler) args[0]);
    }
    try {
      Object result = target.getClass().getMethod(method.getName(), types).invoke(target, args);
      return adapted(method.getReturnType(), result);
    } catch (InvocationTargetException | CompletionException failure) {
      throw failure.getCause();
    }
  }

  private static Object adapted(Class<?> kind, Object result) {
    if (result instanceof CompletableFuture<?> future && kind != CompletableFuture.class) return adapted(kind, future.join());
    if (result == null || kind.isInstance(result)) return result;
    if (result instanceof Pages<?> pages) return pages.stream();
    if (result instanceof AsyncPages<?> pages) return streamed(pages);
    if (result instanceof Changes changes) return Follower.of(changes);
    if (result instanceof Flow.Publisher<?> publisher) return Follower.of(publisher);
    return kind.isInterface() ? view(kind, result) : result;
  }

  /** Returns the items one after another, so that pages are fetched only when they are wanted. */
  private static <T> Stream<T> streamed(AsyncPages<T> pages) {
    var follower = new Follower.Subscriber<T>();
    pages.subscribe(follower);
    return Stream.iterate(follower.next(), Optional::isPresent, last -> follower.next()).map(Optional::get);
  }
}
