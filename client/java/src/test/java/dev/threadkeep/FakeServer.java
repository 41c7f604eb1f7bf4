package dev.threadkeep;

import com.google.protobuf.Any;
import com.google.protobuf.Message;
import com.google.rpc.ErrorInfo;
import dev.threadkeep.internal.Connection;
import dev.threadkeep.v1.AddMemoriesRequest;
import dev.threadkeep.v1.AddMemoriesResponse;
import dev.threadkeep.v1.AddSessionToMemoryRequest;
import dev.threadkeep.v1.AddSessionToMemoryResponse;
import dev.threadkeep.v1.AppendEventsRequest;
import dev.threadkeep.v1.AppendEventsResponse;
import dev.threadkeep.v1.AppendStreamRequest;
import dev.threadkeep.v1.AppendStreamResponse;
import dev.threadkeep.v1.ApplyCompactionRequest;
import dev.threadkeep.v1.ApplyCompactionResponse;
import dev.threadkeep.v1.CompactionServiceGrpc.CompactionServiceImplBase;
import dev.threadkeep.v1.ConsumeRequest;
import dev.threadkeep.v1.ConsumeResponse;
import dev.threadkeep.v1.ConsumerServiceGrpc.ConsumerServiceImplBase;
import dev.threadkeep.v1.CreateSessionRequest;
import dev.threadkeep.v1.CreateSessionResponse;
import dev.threadkeep.v1.DeleteByLabelRequest;
import dev.threadkeep.v1.DeleteByLabelResponse;
import dev.threadkeep.v1.DeleteExpiredSessionsRequest;
import dev.threadkeep.v1.DeleteExpiredSessionsResponse;
import dev.threadkeep.v1.DeleteMemoriesRequest;
import dev.threadkeep.v1.DeleteMemoriesResponse;
import dev.threadkeep.v1.DeleteUserRequest;
import dev.threadkeep.v1.DeleteUserResponse;
import dev.threadkeep.v1.EventServiceGrpc.EventServiceImplBase;
import dev.threadkeep.v1.GetContextRequest;
import dev.threadkeep.v1.GetContextResponse;
import dev.threadkeep.v1.GetMemoriesRequest;
import dev.threadkeep.v1.GetMemoriesResponse;
import dev.threadkeep.v1.GetStateRequest;
import dev.threadkeep.v1.GetStateResponse;
import dev.threadkeep.v1.ListMemoriesRequest;
import dev.threadkeep.v1.ListMemoriesResponse;
import dev.threadkeep.v1.ListSessionsRequest;
import dev.threadkeep.v1.ListSessionsResponse;
import dev.threadkeep.v1.ListUsersRequest;
import dev.threadkeep.v1.ListUsersResponse;
import dev.threadkeep.v1.MemoryServiceGrpc.MemoryServiceImplBase;
import dev.threadkeep.v1.PatchStateRequest;
import dev.threadkeep.v1.PatchStateResponse;
import dev.threadkeep.v1.PlanCompactionRequest;
import dev.threadkeep.v1.PlanCompactionResponse;
import dev.threadkeep.v1.ReplayParkedChangesRequest;
import dev.threadkeep.v1.ReplayParkedChangesResponse;
import dev.threadkeep.v1.SearchEventsRequest;
import dev.threadkeep.v1.SearchEventsResponse;
import dev.threadkeep.v1.SearchMemoryRequest;
import dev.threadkeep.v1.SearchMemoryResponse;
import dev.threadkeep.v1.SearchServiceGrpc.SearchServiceImplBase;
import dev.threadkeep.v1.SessionServiceGrpc.SessionServiceImplBase;
import dev.threadkeep.v1.StateServiceGrpc.StateServiceImplBase;
import dev.threadkeep.v1.SubscriptionServiceGrpc.SubscriptionServiceImplBase;
import dev.threadkeep.v1.UpsertMemoriesRequest;
import dev.threadkeep.v1.UpsertMemoriesResponse;
import dev.threadkeep.v1.WatchAllRequest;
import dev.threadkeep.v1.WatchAllResponse;
import dev.threadkeep.v1.WatchSessionRequest;
import dev.threadkeep.v1.WatchSessionResponse;
import io.grpc.Grpc;
import io.grpc.InsecureServerCredentials;
import io.grpc.Metadata;
import io.grpc.Server;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiConsumer;
import java.util.function.Function;

/** A loopback server that responds as a test scripts and records requests. */
final class FakeServer {
  final List<Message> requests = new CopyOnWriteArrayList<>();
  final List<String> credentials = new CopyOnWriteArrayList<>();
  /** The open streams, for the test to feed. */
  final BlockingQueue<ServerCallStreamObserver<WatchSessionResponse>> streams = new LinkedBlockingQueue<>();

  /** Number of unary calls that the client canceled while they were unanswered. */
  final AtomicInteger canceled = new AtomicInteger();

  /** Answers each unary request; an exception ends the call with that error, null leaves it unanswered. */
  volatile Function<Message, Message> answer = request -> AppendEventsResponse.getDefaultInstance();

  /** Answers each request of a Consume stream. */
  volatile BiConsumer<ConsumeRequest, StreamObserver<ConsumeResponse>> consumed = (request, out) -> {};

  /** Answers each request of an AppendStream. */
  volatile BiConsumer<AppendStreamRequest, StreamObserver<AppendStreamResponse>> appended = (request, out) -> {};

  private final Server server;

  FakeServer(int port) throws IOException {
    server =
        Grpc.newServerBuilderForPort(port, InsecureServerCredentials.create())
            .maxInboundMessageSize(Connection.MAX_MESSAGE_BYTES)
            .addService(new Appends())
            .addService(new Sessions())
            .addService(new Compactions())
            .addService(new Search())
            .addService(new Memories())
            .addService(new States())
            .addService(new Subscriptions())
            .addService(new Consumers())
            .intercept(new Credentials())
            .build()
            .start();
  }

  ThreadkeepClientBuilder client() {
    return ThreadkeepClient.builder().address("127.0.0.1:" + port()).token("").app("shop").userId("ada");
  }

  int port() {
    return server.getPort();
  }

  void close() throws InterruptedException {
    server.shutdownNow().awaitTermination();
  }

  static StatusRuntimeException error(Status.Code code, String message, Message... details) {
    var status = com.google.rpc.Status.newBuilder().setCode(code.value()).setMessage(message);
    for (Message detail : details) {
      status.addDetails(Any.pack(detail));
    }
    return StatusProto.toStatusRuntimeException(status.build());
  }

  static ErrorInfo reason(String reason) {
    return reason(reason, "threadkeep.dev");
  }

  static ErrorInfo reason(String reason, String domain) {
    return ErrorInfo.newBuilder().setReason(reason).setDomain(domain).build();
  }

  private <R extends Message> void serve(Message request, StreamObserver<R> out, Class<R> kind) {
    requests.add(request);
    ((ServerCallStreamObserver<R>) out).setOnCancelHandler(canceled::incrementAndGet);
    try {
      Message response = answer.apply(request);
      if (response != null) {
        out.onNext(kind.cast(response));
        out.onCompleted();
      }
    } catch (StatusRuntimeException error) {
      out.onError(error);
    }
  }

  private final class Appends extends EventServiceImplBase {
    @Override
    public void appendEvents(AppendEventsRequest request, StreamObserver<AppendEventsResponse> out) {
      serve(request, out, AppendEventsResponse.class);
    }

    @Override
    public StreamObserver<AppendStreamRequest> appendStream(StreamObserver<AppendStreamResponse> out) {
      return scripted(out, appended);
    }

    @Override
    public void getContext(GetContextRequest request, StreamObserver<GetContextResponse> out) {
      serve(request, out, GetContextResponse.class);
    }
  }

  /** Answers each message of a stream by the script; ends it when the client does. */
  private <Q extends Message, R> StreamObserver<Q> scripted(StreamObserver<R> out, BiConsumer<Q, StreamObserver<R>> script) {
    return new StreamObserver<>() {
      @Override
      public void onNext(Q request) {
        requests.add(request);
        script.accept(request, out);
      }

      @Override
      public void onError(Throwable canceled) {}

      @Override
      public void onCompleted() {
        out.onCompleted();
      }
    };
  }

  private final class Consumers extends ConsumerServiceImplBase {
    @Override
    public StreamObserver<ConsumeRequest> consume(StreamObserver<ConsumeResponse> out) {
      return scripted(out, consumed);
    }

    @Override
    public void replayParkedChanges(ReplayParkedChangesRequest request, StreamObserver<ReplayParkedChangesResponse> out) {
      serve(request, out, ReplayParkedChangesResponse.class);
    }
  }

  private final class Sessions extends SessionServiceImplBase {
    @Override
    public void listUsers(ListUsersRequest request, StreamObserver<ListUsersResponse> out) {
      serve(request, out, ListUsersResponse.class);
    }

    @Override
    public void createSession(CreateSessionRequest request, StreamObserver<CreateSessionResponse> out) {
      serve(request, out, CreateSessionResponse.class);
    }

    @Override
    public void listSessions(ListSessionsRequest request, StreamObserver<ListSessionsResponse> out) {
      serve(request, out, ListSessionsResponse.class);
    }

    @Override
    public void deleteByLabel(DeleteByLabelRequest request, StreamObserver<DeleteByLabelResponse> out) {
      serve(request, out, DeleteByLabelResponse.class);
    }

    @Override
    public void deleteUser(DeleteUserRequest request, StreamObserver<DeleteUserResponse> out) {
      serve(request, out, DeleteUserResponse.class);
    }

    @Override
    public void deleteExpiredSessions(DeleteExpiredSessionsRequest request, StreamObserver<DeleteExpiredSessionsResponse> out) {
      serve(request, out, DeleteExpiredSessionsResponse.class);
    }
  }

  private final class Search extends SearchServiceImplBase {
    @Override
    public void searchEvents(SearchEventsRequest request, StreamObserver<SearchEventsResponse> out) {
      serve(request, out, SearchEventsResponse.class);
    }
  }

  private final class Compactions extends CompactionServiceImplBase {
    @Override
    public void planCompaction(PlanCompactionRequest request, StreamObserver<PlanCompactionResponse> out) {
      serve(request, out, PlanCompactionResponse.class);
    }

    @Override
    public void applyCompaction(ApplyCompactionRequest request, StreamObserver<ApplyCompactionResponse> out) {
      serve(request, out, ApplyCompactionResponse.class);
    }
  }

  private final class Memories extends MemoryServiceImplBase {
    @Override
    public void addMemories(AddMemoriesRequest request, StreamObserver<AddMemoriesResponse> out) {
      serve(request, out, AddMemoriesResponse.class);
    }

    @Override
    public void addSessionToMemory(AddSessionToMemoryRequest request, StreamObserver<AddSessionToMemoryResponse> out) {
      serve(request, out, AddSessionToMemoryResponse.class);
    }

    @Override
    public void searchMemory(SearchMemoryRequest request, StreamObserver<SearchMemoryResponse> out) {
      serve(request, out, SearchMemoryResponse.class);
    }

    @Override
    public void listMemories(ListMemoriesRequest request, StreamObserver<ListMemoriesResponse> out) {
      serve(request, out, ListMemoriesResponse.class);
    }

    @Override
    public void upsertMemories(UpsertMemoriesRequest request, StreamObserver<UpsertMemoriesResponse> out) {
      serve(request, out, UpsertMemoriesResponse.class);
    }

    @Override
    public void getMemories(GetMemoriesRequest request, StreamObserver<GetMemoriesResponse> out) {
      serve(request, out, GetMemoriesResponse.class);
    }

    @Override
    public void deleteMemories(DeleteMemoriesRequest request, StreamObserver<DeleteMemoriesResponse> out) {
      serve(request, out, DeleteMemoriesResponse.class);
    }
  }

  private final class States extends StateServiceImplBase {
    @Override
    public void getState(GetStateRequest request, StreamObserver<GetStateResponse> out) {
      serve(request, out, GetStateResponse.class);
    }

    @Override
    public void patchState(PatchStateRequest request, StreamObserver<PatchStateResponse> out) {
      serve(request, out, PatchStateResponse.class);
    }
  }

  private final class Subscriptions extends SubscriptionServiceImplBase {
    @Override
    public void watchSession(WatchSessionRequest request, StreamObserver<WatchSessionResponse> out) {
      var stream = (ServerCallStreamObserver<WatchSessionResponse>) out;
      stream.setOnCancelHandler(() -> {});
      requests.add(request);
      streams.add(stream);
    }

    @Override
    public void watchAll(WatchAllRequest request, StreamObserver<WatchAllResponse> out) {
      serve(request, out, WatchAllResponse.class);
    }
  }

  private final class Credentials implements ServerInterceptor {
    @Override
    public <Q, R> ServerCall.Listener<Q> interceptCall(ServerCall<Q, R> call, Metadata headers, ServerCallHandler<Q, R> next) {
      credentials.add(String.valueOf(headers.get(Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER))));
      return next.startCall(call, headers);
    }
  }
}
