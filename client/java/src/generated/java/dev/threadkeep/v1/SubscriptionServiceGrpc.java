package dev.threadkeep.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * Streams changes. A stream is ordered (changes of a session in log order; all subscribers see the same order), unique
 * (each change once), reliable (no change is skipped, or the stream ends with an error), atomic (an append is one
 * change), resumable (from the token of any change) and bookmarkable (a token is valid as long as the feed keeps its
 * changes).
 * A stream has no deadline of its own. The first frame is a checkpoint, which confirms that the subscription is live.
 * Resume tokens are bound to the store, the scope and the filter.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class SubscriptionServiceGrpc {

  private SubscriptionServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "threadkeep.v1.SubscriptionService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<dev.threadkeep.v1.WatchSessionRequest,
      dev.threadkeep.v1.WatchSessionResponse> getWatchSessionMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "WatchSession",
      requestType = dev.threadkeep.v1.WatchSessionRequest.class,
      responseType = dev.threadkeep.v1.WatchSessionResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
  public static io.grpc.MethodDescriptor<dev.threadkeep.v1.WatchSessionRequest,
      dev.threadkeep.v1.WatchSessionResponse> getWatchSessionMethod() {
    io.grpc.MethodDescriptor<dev.threadkeep.v1.WatchSessionRequest, dev.threadkeep.v1.WatchSessionResponse> getWatchSessionMethod;
    if ((getWatchSessionMethod = SubscriptionServiceGrpc.getWatchSessionMethod) == null) {
      synchronized (SubscriptionServiceGrpc.class) {
        if ((getWatchSessionMethod = SubscriptionServiceGrpc.getWatchSessionMethod) == null) {
          SubscriptionServiceGrpc.getWatchSessionMethod = getWatchSessionMethod =
              io.grpc.MethodDescriptor.<dev.threadkeep.v1.WatchSessionRequest, dev.threadkeep.v1.WatchSessionResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "WatchSession"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.WatchSessionRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.WatchSessionResponse.getDefaultInstance()))
              .setSchemaDescriptor(new SubscriptionServiceMethodDescriptorSupplier("WatchSession"))
              .build();
        }
      }
    }
    return getWatchSessionMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.threadkeep.v1.WatchAllRequest,
      dev.threadkeep.v1.WatchAllResponse> getWatchAllMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "WatchAll",
      requestType = dev.threadkeep.v1.WatchAllRequest.class,
      responseType = dev.threadkeep.v1.WatchAllResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
  public static io.grpc.MethodDescriptor<dev.threadkeep.v1.WatchAllRequest,
      dev.threadkeep.v1.WatchAllResponse> getWatchAllMethod() {
    io.grpc.MethodDescriptor<dev.threadkeep.v1.WatchAllRequest, dev.threadkeep.v1.WatchAllResponse> getWatchAllMethod;
    if ((getWatchAllMethod = SubscriptionServiceGrpc.getWatchAllMethod) == null) {
      synchronized (SubscriptionServiceGrpc.class) {
        if ((getWatchAllMethod = SubscriptionServiceGrpc.getWatchAllMethod) == null) {
          SubscriptionServiceGrpc.getWatchAllMethod = getWatchAllMethod =
              io.grpc.MethodDescriptor.<dev.threadkeep.v1.WatchAllRequest, dev.threadkeep.v1.WatchAllResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "WatchAll"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.WatchAllRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.WatchAllResponse.getDefaultInstance()))
              .setSchemaDescriptor(new SubscriptionServiceMethodDescriptorSupplier("WatchAll"))
              .build();
        }
      }
    }
    return getWatchAllMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static SubscriptionServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<SubscriptionServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<SubscriptionServiceStub>() {
        @java.lang.Override
        public SubscriptionServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new SubscriptionServiceStub(channel, callOptions);
        }
      };
    return SubscriptionServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports all types of calls on the service
   */
  public static SubscriptionServiceBlockingV2Stub newBlockingV2Stub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<SubscriptionServiceBlockingV2Stub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<SubscriptionServiceBlockingV2Stub>() {
        @java.lang.Override
        public SubscriptionServiceBlockingV2Stub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new SubscriptionServiceBlockingV2Stub(channel, callOptions);
        }
      };
    return SubscriptionServiceBlockingV2Stub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static SubscriptionServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<SubscriptionServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<SubscriptionServiceBlockingStub>() {
        @java.lang.Override
        public SubscriptionServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new SubscriptionServiceBlockingStub(channel, callOptions);
        }
      };
    return SubscriptionServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static SubscriptionServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<SubscriptionServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<SubscriptionServiceFutureStub>() {
        @java.lang.Override
        public SubscriptionServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new SubscriptionServiceFutureStub(channel, callOptions);
        }
      };
    return SubscriptionServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * Streams changes. A stream is ordered (changes of a session in log order; all subscribers see the same order), unique
   * (each change once), reliable (no change is skipped, or the stream ends with an error), atomic (an append is one
   * change), resumable (from the token of any change) and bookmarkable (a token is valid as long as the feed keeps its
   * changes).
   * A stream has no deadline of its own. The first frame is a checkpoint, which confirms that the subscription is live.
   * Resume tokens are bound to the store, the scope and the filter.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * Streams the changes of one session. The session need not exist yet if app or user_id is specified; its deletion,
     * and a later session with the same identity, are reported as changes.
     * Errors: INVALID_FIELD, SESSION_NOT_FOUND and AMBIGUOUS_SESSION for a session_id alone, INVALID_RESUME_TOKEN,
     * RESUME_POSITION_EXPIRED, QUOTA_EXCEEDED, SERVER_DRAINING, STORE_UNAVAILABLE.
     * </pre>
     */
    default void watchSession(dev.threadkeep.v1.WatchSessionRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.WatchSessionResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getWatchSessionMethod(), responseObserver);
    }

    /**
     * <pre>
     * Streams the changes of all sessions of a user, an app or the tenant.
     * Errors: INVALID_FIELD, PERMISSION_DENIED, INVALID_RESUME_TOKEN, RESUME_POSITION_EXPIRED, QUOTA_EXCEEDED,
     * SERVER_DRAINING, STORE_UNAVAILABLE.
     * </pre>
     */
    default void watchAll(dev.threadkeep.v1.WatchAllRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.WatchAllResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getWatchAllMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service SubscriptionService.
   * <pre>
   * Streams changes. A stream is ordered (changes of a session in log order; all subscribers see the same order), unique
   * (each change once), reliable (no change is skipped, or the stream ends with an error), atomic (an append is one
   * change), resumable (from the token of any change) and bookmarkable (a token is valid as long as the feed keeps its
   * changes).
   * A stream has no deadline of its own. The first frame is a checkpoint, which confirms that the subscription is live.
   * Resume tokens are bound to the store, the scope and the filter.
   * </pre>
   */
  public static abstract class SubscriptionServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return SubscriptionServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service SubscriptionService.
   * <pre>
   * Streams changes. A stream is ordered (changes of a session in log order; all subscribers see the same order), unique
   * (each change once), reliable (no change is skipped, or the stream ends with an error), atomic (an append is one
   * change), resumable (from the token of any change) and bookmarkable (a token is valid as long as the feed keeps its
   * changes).
   * A stream has no deadline of its own. The first frame is a checkpoint, which confirms that the subscription is live.
   * Resume tokens are bound to the store, the scope and the filter.
   * </pre>
   */
  public static final class SubscriptionServiceStub
      extends io.grpc.stub.AbstractAsyncStub<SubscriptionServiceStub> {
    private SubscriptionServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected SubscriptionServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new SubscriptionServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * Streams the changes of one session. The session need not exist yet if app or user_id is specified; its deletion,
     * and a later session with the same identity, are reported as changes.
     * Errors: INVALID_FIELD, SESSION_NOT_FOUND and AMBIGUOUS_SESSION for a session_id alone, INVALID_RESUME_TOKEN,
     * RESUME_POSITION_EXPIRED, QUOTA_EXCEEDED, SERVER_DRAINING, STORE_UNAVAILABLE.
     * </pre>
     */
    public void watchSession(dev.threadkeep.v1.WatchSessionRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.WatchSessionResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncServerStreamingCall(
          getChannel().newCall(getWatchSessionMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Streams the changes of all sessions of a user, an app or the tenant.
     * Errors: INVALID_FIELD, PERMISSION_DENIED, INVALID_RESUME_TOKEN, RESUME_POSITION_EXPIRED, QUOTA_EXCEEDED,
     * SERVER_DRAINING, STORE_UNAVAILABLE.
     * </pre>
     */
    public void watchAll(dev.threadkeep.v1.WatchAllRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.WatchAllResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncServerStreamingCall(
          getChannel().newCall(getWatchAllMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service SubscriptionService.
   * <pre>
   * Streams changes. A stream is ordered (changes of a session in log order; all subscribers see the same order), unique
   * (each change once), reliable (no change is skipped, or the stream ends with an error), atomic (an append is one
   * change), resumable (from the token of any change) and bookmarkable (a token is valid as long as the feed keeps its
   * changes).
   * A stream has no deadline of its own. The first frame is a checkpoint, which confirms that the subscription is live.
   * Resume tokens are bound to the store, the scope and the filter.
   * </pre>
   */
  public static final class SubscriptionServiceBlockingV2Stub
      extends io.grpc.stub.AbstractBlockingStub<SubscriptionServiceBlockingV2Stub> {
    private SubscriptionServiceBlockingV2Stub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected SubscriptionServiceBlockingV2Stub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new SubscriptionServiceBlockingV2Stub(channel, callOptions);
    }

    /**
     * <pre>
     * Streams the changes of one session. The session need not exist yet if app or user_id is specified; its deletion,
     * and a later session with the same identity, are reported as changes.
     * Errors: INVALID_FIELD, SESSION_NOT_FOUND and AMBIGUOUS_SESSION for a session_id alone, INVALID_RESUME_TOKEN,
     * RESUME_POSITION_EXPIRED, QUOTA_EXCEEDED, SERVER_DRAINING, STORE_UNAVAILABLE.
     * </pre>
     */
    @io.grpc.ExperimentalApi("https://github.com/grpc/grpc-java/issues/10918")
    public io.grpc.stub.BlockingClientCall<?, dev.threadkeep.v1.WatchSessionResponse>
        watchSession(dev.threadkeep.v1.WatchSessionRequest request) {
      return io.grpc.stub.ClientCalls.blockingV2ServerStreamingCall(
          getChannel(), getWatchSessionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Streams the changes of all sessions of a user, an app or the tenant.
     * Errors: INVALID_FIELD, PERMISSION_DENIED, INVALID_RESUME_TOKEN, RESUME_POSITION_EXPIRED, QUOTA_EXCEEDED,
     * SERVER_DRAINING, STORE_UNAVAILABLE.
     * </pre>
     */
    @io.grpc.ExperimentalApi("https://github.com/grpc/grpc-java/issues/10918")
    public io.grpc.stub.BlockingClientCall<?, dev.threadkeep.v1.WatchAllResponse>
        watchAll(dev.threadkeep.v1.WatchAllRequest request) {
      return io.grpc.stub.ClientCalls.blockingV2ServerStreamingCall(
          getChannel(), getWatchAllMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do limited synchronous rpc calls to service SubscriptionService.
   * <pre>
   * Streams changes. A stream is ordered (changes of a session in log order; all subscribers see the same order), unique
   * (each change once), reliable (no change is skipped, or the stream ends with an error), atomic (an append is one
   * change), resumable (from the token of any change) and bookmarkable (a token is valid as long as the feed keeps its
   * changes).
   * A stream has no deadline of its own. The first frame is a checkpoint, which confirms that the subscription is live.
   * Resume tokens are bound to the store, the scope and the filter.
   * </pre>
   */
  public static final class SubscriptionServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<SubscriptionServiceBlockingStub> {
    private SubscriptionServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected SubscriptionServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new SubscriptionServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * Streams the changes of one session. The session need not exist yet if app or user_id is specified; its deletion,
     * and a later session with the same identity, are reported as changes.
     * Errors: INVALID_FIELD, SESSION_NOT_FOUND and AMBIGUOUS_SESSION for a session_id alone, INVALID_RESUME_TOKEN,
     * RESUME_POSITION_EXPIRED, QUOTA_EXCEEDED, SERVER_DRAINING, STORE_UNAVAILABLE.
     * </pre>
     */
    public java.util.Iterator<dev.threadkeep.v1.WatchSessionResponse> watchSession(
        dev.threadkeep.v1.WatchSessionRequest request) {
      return io.grpc.stub.ClientCalls.blockingServerStreamingCall(
          getChannel(), getWatchSessionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Streams the changes of all sessions of a user, an app or the tenant.
     * Errors: INVALID_FIELD, PERMISSION_DENIED, INVALID_RESUME_TOKEN, RESUME_POSITION_EXPIRED, QUOTA_EXCEEDED,
     * SERVER_DRAINING, STORE_UNAVAILABLE.
     * </pre>
     */
    public java.util.Iterator<dev.threadkeep.v1.WatchAllResponse> watchAll(
        dev.threadkeep.v1.WatchAllRequest request) {
      return io.grpc.stub.ClientCalls.blockingServerStreamingCall(
          getChannel(), getWatchAllMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service SubscriptionService.
   * <pre>
   * Streams changes. A stream is ordered (changes of a session in log order; all subscribers see the same order), unique
   * (each change once), reliable (no change is skipped, or the stream ends with an error), atomic (an append is one
   * change), resumable (from the token of any change) and bookmarkable (a token is valid as long as the feed keeps its
   * changes).
   * A stream has no deadline of its own. The first frame is a checkpoint, which confirms that the subscription is live.
   * Resume tokens are bound to the store, the scope and the filter.
   * </pre>
   */
  public static final class SubscriptionServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<SubscriptionServiceFutureStub> {
    private SubscriptionServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected SubscriptionServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new SubscriptionServiceFutureStub(channel, callOptions);
    }
  }

  private static final int METHODID_WATCH_SESSION = 0;
  private static final int METHODID_WATCH_ALL = 1;

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
        case METHODID_WATCH_SESSION:
          serviceImpl.watchSession((dev.threadkeep.v1.WatchSessionRequest) request,
              (io.grpc.stub.StreamObserver<dev.threadkeep.v1.WatchSessionResponse>) responseObserver);
          break;
        case METHODID_WATCH_ALL:
          serviceImpl.watchAll((dev.threadkeep.v1.WatchAllRequest) request,
              (io.grpc.stub.StreamObserver<dev.threadkeep.v1.WatchAllResponse>) responseObserver);
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
          getWatchSessionMethod(),
          io.grpc.stub.ServerCalls.asyncServerStreamingCall(
            new MethodHandlers<
              dev.threadkeep.v1.WatchSessionRequest,
              dev.threadkeep.v1.WatchSessionResponse>(
                service, METHODID_WATCH_SESSION)))
        .addMethod(
          getWatchAllMethod(),
          io.grpc.stub.ServerCalls.asyncServerStreamingCall(
            new MethodHandlers<
              dev.threadkeep.v1.WatchAllRequest,
              dev.threadkeep.v1.WatchAllResponse>(
                service, METHODID_WATCH_ALL)))
        .build();
  }

  private static abstract class SubscriptionServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    SubscriptionServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return dev.threadkeep.v1.SubscriptionServiceOuterClass.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("SubscriptionService");
    }
  }

  private static final class SubscriptionServiceFileDescriptorSupplier
      extends SubscriptionServiceBaseDescriptorSupplier {
    SubscriptionServiceFileDescriptorSupplier() {}
  }

  private static final class SubscriptionServiceMethodDescriptorSupplier
      extends SubscriptionServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    SubscriptionServiceMethodDescriptorSupplier(java.lang.String methodName) {
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
      synchronized (SubscriptionServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new SubscriptionServiceFileDescriptorSupplier())
              .addMethod(getWatchSessionMethod())
              .addMethod(getWatchAllMethod())
              .build();
        }
      }
    }
    return result;
  }
}
