package dev.threadkeep.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * Searches events across sessions.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class SearchServiceGrpc {

  private SearchServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "threadkeep.v1.SearchService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<dev.threadkeep.v1.SearchEventsRequest,
      dev.threadkeep.v1.SearchEventsResponse> getSearchEventsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "SearchEvents",
      requestType = dev.threadkeep.v1.SearchEventsRequest.class,
      responseType = dev.threadkeep.v1.SearchEventsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.threadkeep.v1.SearchEventsRequest,
      dev.threadkeep.v1.SearchEventsResponse> getSearchEventsMethod() {
    io.grpc.MethodDescriptor<dev.threadkeep.v1.SearchEventsRequest, dev.threadkeep.v1.SearchEventsResponse> getSearchEventsMethod;
    if ((getSearchEventsMethod = SearchServiceGrpc.getSearchEventsMethod) == null) {
      synchronized (SearchServiceGrpc.class) {
        if ((getSearchEventsMethod = SearchServiceGrpc.getSearchEventsMethod) == null) {
          SearchServiceGrpc.getSearchEventsMethod = getSearchEventsMethod =
              io.grpc.MethodDescriptor.<dev.threadkeep.v1.SearchEventsRequest, dev.threadkeep.v1.SearchEventsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "SearchEvents"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.SearchEventsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.SearchEventsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new SearchServiceMethodDescriptorSupplier("SearchEvents"))
              .build();
        }
      }
    }
    return getSearchEventsMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static SearchServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<SearchServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<SearchServiceStub>() {
        @java.lang.Override
        public SearchServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new SearchServiceStub(channel, callOptions);
        }
      };
    return SearchServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports all types of calls on the service
   */
  public static SearchServiceBlockingV2Stub newBlockingV2Stub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<SearchServiceBlockingV2Stub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<SearchServiceBlockingV2Stub>() {
        @java.lang.Override
        public SearchServiceBlockingV2Stub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new SearchServiceBlockingV2Stub(channel, callOptions);
        }
      };
    return SearchServiceBlockingV2Stub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static SearchServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<SearchServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<SearchServiceBlockingStub>() {
        @java.lang.Override
        public SearchServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new SearchServiceBlockingStub(channel, callOptions);
        }
      };
    return SearchServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static SearchServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<SearchServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<SearchServiceFutureStub>() {
        @java.lang.Override
        public SearchServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new SearchServiceFutureStub(channel, callOptions);
        }
      };
    return SearchServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * Searches events across sessions.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * Returns the events that match a query. Everything committed before the call is searched (SEMANTIC: once it has an
     * embedding), archived events included unless the filter excludes them. Events that are not indexed yet are read one by
     * one; a search that uses up the server's budget for that says so, see SearchEventsResponse.incomplete.
     * Errors: INVALID_FIELD, INVALID_PAGE_TOKEN, SESSION_NOT_FOUND, AMBIGUOUS_SESSION, PERMISSION_DENIED,
     * EMBEDDER_NOT_CONFIGURED, EMBEDDER_FAILED, RATE_LIMITED (too many searches at a time).
     * </pre>
     */
    default void searchEvents(dev.threadkeep.v1.SearchEventsRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.SearchEventsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getSearchEventsMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service SearchService.
   * <pre>
   * Searches events across sessions.
   * </pre>
   */
  public static abstract class SearchServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return SearchServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service SearchService.
   * <pre>
   * Searches events across sessions.
   * </pre>
   */
  public static final class SearchServiceStub
      extends io.grpc.stub.AbstractAsyncStub<SearchServiceStub> {
    private SearchServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected SearchServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new SearchServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * Returns the events that match a query. Everything committed before the call is searched (SEMANTIC: once it has an
     * embedding), archived events included unless the filter excludes them. Events that are not indexed yet are read one by
     * one; a search that uses up the server's budget for that says so, see SearchEventsResponse.incomplete.
     * Errors: INVALID_FIELD, INVALID_PAGE_TOKEN, SESSION_NOT_FOUND, AMBIGUOUS_SESSION, PERMISSION_DENIED,
     * EMBEDDER_NOT_CONFIGURED, EMBEDDER_FAILED, RATE_LIMITED (too many searches at a time).
     * </pre>
     */
    public void searchEvents(dev.threadkeep.v1.SearchEventsRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.SearchEventsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getSearchEventsMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service SearchService.
   * <pre>
   * Searches events across sessions.
   * </pre>
   */
  public static final class SearchServiceBlockingV2Stub
      extends io.grpc.stub.AbstractBlockingStub<SearchServiceBlockingV2Stub> {
    private SearchServiceBlockingV2Stub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected SearchServiceBlockingV2Stub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new SearchServiceBlockingV2Stub(channel, callOptions);
    }

    /**
     * <pre>
     * Returns the events that match a query. Everything committed before the call is searched (SEMANTIC: once it has an
     * embedding), archived events included unless the filter excludes them. Events that are not indexed yet are read one by
     * one; a search that uses up the server's budget for that says so, see SearchEventsResponse.incomplete.
     * Errors: INVALID_FIELD, INVALID_PAGE_TOKEN, SESSION_NOT_FOUND, AMBIGUOUS_SESSION, PERMISSION_DENIED,
     * EMBEDDER_NOT_CONFIGURED, EMBEDDER_FAILED, RATE_LIMITED (too many searches at a time).
     * </pre>
     */
    public dev.threadkeep.v1.SearchEventsResponse searchEvents(dev.threadkeep.v1.SearchEventsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getSearchEventsMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do limited synchronous rpc calls to service SearchService.
   * <pre>
   * Searches events across sessions.
   * </pre>
   */
  public static final class SearchServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<SearchServiceBlockingStub> {
    private SearchServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected SearchServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new SearchServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * Returns the events that match a query. Everything committed before the call is searched (SEMANTIC: once it has an
     * embedding), archived events included unless the filter excludes them. Events that are not indexed yet are read one by
     * one; a search that uses up the server's budget for that says so, see SearchEventsResponse.incomplete.
     * Errors: INVALID_FIELD, INVALID_PAGE_TOKEN, SESSION_NOT_FOUND, AMBIGUOUS_SESSION, PERMISSION_DENIED,
     * EMBEDDER_NOT_CONFIGURED, EMBEDDER_FAILED, RATE_LIMITED (too many searches at a time).
     * </pre>
     */
    public dev.threadkeep.v1.SearchEventsResponse searchEvents(dev.threadkeep.v1.SearchEventsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getSearchEventsMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service SearchService.
   * <pre>
   * Searches events across sessions.
   * </pre>
   */
  public static final class SearchServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<SearchServiceFutureStub> {
    private SearchServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected SearchServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new SearchServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * Returns the events that match a query. Everything committed before the call is searched (SEMANTIC: once it has an
     * embedding), archived events included unless the filter excludes them. Events that are not indexed yet are read one by
     * one; a search that uses up the server's budget for that says so, see SearchEventsResponse.incomplete.
     * Errors: INVALID_FIELD, INVALID_PAGE_TOKEN, SESSION_NOT_FOUND, AMBIGUOUS_SESSION, PERMISSION_DENIED,
     * EMBEDDER_NOT_CONFIGURED, EMBEDDER_FAILED, RATE_LIMITED (too many searches at a time).
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.threadkeep.v1.SearchEventsResponse> searchEvents(
        dev.threadkeep.v1.SearchEventsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getSearchEventsMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_SEARCH_EVENTS = 0;

  private static final class MethodHandlers<Req, Resp> implements
      io.grpc.stub.ServerCalls.UnaryMethod<Req, Resp>,
      io.grpc.stub.ServerCalls.ServerStreamingMethod<Req, Resp>,
      io.grpc.stub.ServerCalls.ClientStreamingMethod<Req, Resp>,
      io.grpc.stub.ServerCalls.BidiStreamingMethod<Req, Resp> {
    private final AsyncService serviceImpl;
    private final int methodId;

    MethodHandlers(AsyncService serviceImpl, int methodId) {
      this.serviceImpl = serviceImpl;
      this.methodId = methodId;
    }

    @java.lang.Override
    @java.lang.SuppressWarnings("unchecked")
    public void invoke(Req request, io.grpc.stub.StreamObserver<Resp> responseObserver) {
      switch (methodId) {
        case METHODID_SEARCH_EVENTS:
          serviceImpl.searchEvents((dev.threadkeep.v1.SearchEventsRequest) request,
              (io.grpc.stub.StreamObserver<dev.threadkeep.v1.SearchEventsResponse>) responseObserver);
          break;
        default:
          throw new AssertionError();
      }
    }

    @java.lang.Override
    @java.lang.SuppressWarnings("unchecked")
    public io.grpc.stub.StreamObserver<Req> invoke(
        io.grpc.stub.StreamObserver<Resp> responseObserver) {
      switch (methodId) {
        default:
          throw new AssertionError();
      }
    }
  }

  public static final io.grpc.ServerServiceDefinition bindService(AsyncService service) {
    return io.grpc.ServerServiceDefinition.builder(getServiceDescriptor())
        .addMethod(
          getSearchEventsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.threadkeep.v1.SearchEventsRequest,
              dev.threadkeep.v1.SearchEventsResponse>(
                service, METHODID_SEARCH_EVENTS)))
        .build();
  }

  private static abstract class SearchServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    SearchServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return dev.threadkeep.v1.SearchServiceOuterClass.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("SearchService");
    }
  }

  private static final class SearchServiceFileDescriptorSupplier
      extends SearchServiceBaseDescriptorSupplier {
    SearchServiceFileDescriptorSupplier() {}
  }

  private static final class SearchServiceMethodDescriptorSupplier
      extends SearchServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    SearchServiceMethodDescriptorSupplier(java.lang.String methodName) {
      this.methodName = methodName;
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.MethodDescriptor getMethodDescriptor() {
      return getServiceDescriptor().findMethodByName(methodName);
    }
  }

  private static volatile io.grpc.ServiceDescriptor serviceDescriptor;

  public static io.grpc.ServiceDescriptor getServiceDescriptor() {
    io.grpc.ServiceDescriptor result = serviceDescriptor;
    if (result == null) {
      synchronized (SearchServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new SearchServiceFileDescriptorSupplier())
              .addMethod(getSearchEventsMethod())
              .build();
        }
      }
    }
    return result;
  }
}
