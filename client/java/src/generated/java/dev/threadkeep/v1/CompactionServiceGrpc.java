package dev.threadkeep.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * Compacts sessions. A compaction archives events and inserts synthetic ones; it deletes nothing. Concurrent appends do
 * not invalidate a compaction. Only another compaction of the same session does, or any change if the caller requests
 * the strict precondition.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class CompactionServiceGrpc {

  private CompactionServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "threadkeep.v1.CompactionService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<dev.threadkeep.v1.CompactSessionRequest,
      dev.threadkeep.v1.CompactSessionResponse> getCompactSessionMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "CompactSession",
      requestType = dev.threadkeep.v1.CompactSessionRequest.class,
      responseType = dev.threadkeep.v1.CompactSessionResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.threadkeep.v1.CompactSessionRequest,
      dev.threadkeep.v1.CompactSessionResponse> getCompactSessionMethod() {
    io.grpc.MethodDescriptor<dev.threadkeep.v1.CompactSessionRequest, dev.threadkeep.v1.CompactSessionResponse> getCompactSessionMethod;
    if ((getCompactSessionMethod = CompactionServiceGrpc.getCompactSessionMethod) == null) {
      synchronized (CompactionServiceGrpc.class) {
        if ((getCompactSessionMethod = CompactionServiceGrpc.getCompactSessionMethod) == null) {
          CompactionServiceGrpc.getCompactSessionMethod = getCompactSessionMethod =
              io.grpc.MethodDescriptor.<dev.threadkeep.v1.CompactSessionRequest, dev.threadkeep.v1.CompactSessionResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "CompactSession"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.CompactSessionRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.CompactSessionResponse.getDefaultInstance()))
              .setSchemaDescriptor(new CompactionServiceMethodDescriptorSupplier("CompactSession"))
              .build();
        }
      }
    }
    return getCompactSessionMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.threadkeep.v1.PlanCompactionRequest,
      dev.threadkeep.v1.PlanCompactionResponse> getPlanCompactionMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "PlanCompaction",
      requestType = dev.threadkeep.v1.PlanCompactionRequest.class,
      responseType = dev.threadkeep.v1.PlanCompactionResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.threadkeep.v1.PlanCompactionRequest,
      dev.threadkeep.v1.PlanCompactionResponse> getPlanCompactionMethod() {
    io.grpc.MethodDescriptor<dev.threadkeep.v1.PlanCompactionRequest, dev.threadkeep.v1.PlanCompactionResponse> getPlanCompactionMethod;
    if ((getPlanCompactionMethod = CompactionServiceGrpc.getPlanCompactionMethod) == null) {
      synchronized (CompactionServiceGrpc.class) {
        if ((getPlanCompactionMethod = CompactionServiceGrpc.getPlanCompactionMethod) == null) {
          CompactionServiceGrpc.getPlanCompactionMethod = getPlanCompactionMethod =
              io.grpc.MethodDescriptor.<dev.threadkeep.v1.PlanCompactionRequest, dev.threadkeep.v1.PlanCompactionResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "PlanCompaction"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.PlanCompactionRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.PlanCompactionResponse.getDefaultInstance()))
              .setSchemaDescriptor(new CompactionServiceMethodDescriptorSupplier("PlanCompaction"))
              .build();
        }
      }
    }
    return getPlanCompactionMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.threadkeep.v1.ApplyCompactionRequest,
      dev.threadkeep.v1.ApplyCompactionResponse> getApplyCompactionMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ApplyCompaction",
      requestType = dev.threadkeep.v1.ApplyCompactionRequest.class,
      responseType = dev.threadkeep.v1.ApplyCompactionResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.threadkeep.v1.ApplyCompactionRequest,
      dev.threadkeep.v1.ApplyCompactionResponse> getApplyCompactionMethod() {
    io.grpc.MethodDescriptor<dev.threadkeep.v1.ApplyCompactionRequest, dev.threadkeep.v1.ApplyCompactionResponse> getApplyCompactionMethod;
    if ((getApplyCompactionMethod = CompactionServiceGrpc.getApplyCompactionMethod) == null) {
      synchronized (CompactionServiceGrpc.class) {
        if ((getApplyCompactionMethod = CompactionServiceGrpc.getApplyCompactionMethod) == null) {
          CompactionServiceGrpc.getApplyCompactionMethod = getApplyCompactionMethod =
              io.grpc.MethodDescriptor.<dev.threadkeep.v1.ApplyCompactionRequest, dev.threadkeep.v1.ApplyCompactionResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ApplyCompaction"))
              .setIdempotent(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.ApplyCompactionRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.ApplyCompactionResponse.getDefaultInstance()))
              .setSchemaDescriptor(new CompactionServiceMethodDescriptorSupplier("ApplyCompaction"))
              .build();
        }
      }
    }
    return getApplyCompactionMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.threadkeep.v1.ReplaceEventsRequest,
      dev.threadkeep.v1.ReplaceEventsResponse> getReplaceEventsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ReplaceEvents",
      requestType = dev.threadkeep.v1.ReplaceEventsRequest.class,
      responseType = dev.threadkeep.v1.ReplaceEventsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.threadkeep.v1.ReplaceEventsRequest,
      dev.threadkeep.v1.ReplaceEventsResponse> getReplaceEventsMethod() {
    io.grpc.MethodDescriptor<dev.threadkeep.v1.ReplaceEventsRequest, dev.threadkeep.v1.ReplaceEventsResponse> getReplaceEventsMethod;
    if ((getReplaceEventsMethod = CompactionServiceGrpc.getReplaceEventsMethod) == null) {
      synchronized (CompactionServiceGrpc.class) {
        if ((getReplaceEventsMethod = CompactionServiceGrpc.getReplaceEventsMethod) == null) {
          CompactionServiceGrpc.getReplaceEventsMethod = getReplaceEventsMethod =
              io.grpc.MethodDescriptor.<dev.threadkeep.v1.ReplaceEventsRequest, dev.threadkeep.v1.ReplaceEventsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ReplaceEvents"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.ReplaceEventsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.ReplaceEventsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new CompactionServiceMethodDescriptorSupplier("ReplaceEvents"))
              .build();
        }
      }
    }
    return getReplaceEventsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.threadkeep.v1.ListCompactionsRequest,
      dev.threadkeep.v1.ListCompactionsResponse> getListCompactionsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListCompactions",
      requestType = dev.threadkeep.v1.ListCompactionsRequest.class,
      responseType = dev.threadkeep.v1.ListCompactionsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.threadkeep.v1.ListCompactionsRequest,
      dev.threadkeep.v1.ListCompactionsResponse> getListCompactionsMethod() {
    io.grpc.MethodDescriptor<dev.threadkeep.v1.ListCompactionsRequest, dev.threadkeep.v1.ListCompactionsResponse> getListCompactionsMethod;
    if ((getListCompactionsMethod = CompactionServiceGrpc.getListCompactionsMethod) == null) {
      synchronized (CompactionServiceGrpc.class) {
        if ((getListCompactionsMethod = CompactionServiceGrpc.getListCompactionsMethod) == null) {
          CompactionServiceGrpc.getListCompactionsMethod = getListCompactionsMethod =
              io.grpc.MethodDescriptor.<dev.threadkeep.v1.ListCompactionsRequest, dev.threadkeep.v1.ListCompactionsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListCompactions"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.ListCompactionsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.ListCompactionsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new CompactionServiceMethodDescriptorSupplier("ListCompactions"))
              .build();
        }
      }
    }
    return getListCompactionsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.threadkeep.v1.SetCompactionPolicyRequest,
      dev.threadkeep.v1.SetCompactionPolicyResponse> getSetCompactionPolicyMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "SetCompactionPolicy",
      requestType = dev.threadkeep.v1.SetCompactionPolicyRequest.class,
      responseType = dev.threadkeep.v1.SetCompactionPolicyResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.threadkeep.v1.SetCompactionPolicyRequest,
      dev.threadkeep.v1.SetCompactionPolicyResponse> getSetCompactionPolicyMethod() {
    io.grpc.MethodDescriptor<dev.threadkeep.v1.SetCompactionPolicyRequest, dev.threadkeep.v1.SetCompactionPolicyResponse> getSetCompactionPolicyMethod;
    if ((getSetCompactionPolicyMethod = CompactionServiceGrpc.getSetCompactionPolicyMethod) == null) {
      synchronized (CompactionServiceGrpc.class) {
        if ((getSetCompactionPolicyMethod = CompactionServiceGrpc.getSetCompactionPolicyMethod) == null) {
          CompactionServiceGrpc.getSetCompactionPolicyMethod = getSetCompactionPolicyMethod =
              io.grpc.MethodDescriptor.<dev.threadkeep.v1.SetCompactionPolicyRequest, dev.threadkeep.v1.SetCompactionPolicyResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "SetCompactionPolicy"))
              .setIdempotent(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.SetCompactionPolicyRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.SetCompactionPolicyResponse.getDefaultInstance()))
              .setSchemaDescriptor(new CompactionServiceMethodDescriptorSupplier("SetCompactionPolicy"))
              .build();
        }
      }
    }
    return getSetCompactionPolicyMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.threadkeep.v1.GetCompactionPolicyRequest,
      dev.threadkeep.v1.GetCompactionPolicyResponse> getGetCompactionPolicyMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetCompactionPolicy",
      requestType = dev.threadkeep.v1.GetCompactionPolicyRequest.class,
      responseType = dev.threadkeep.v1.GetCompactionPolicyResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.threadkeep.v1.GetCompactionPolicyRequest,
      dev.threadkeep.v1.GetCompactionPolicyResponse> getGetCompactionPolicyMethod() {
    io.grpc.MethodDescriptor<dev.threadkeep.v1.GetCompactionPolicyRequest, dev.threadkeep.v1.GetCompactionPolicyResponse> getGetCompactionPolicyMethod;
    if ((getGetCompactionPolicyMethod = CompactionServiceGrpc.getGetCompactionPolicyMethod) == null) {
      synchronized (CompactionServiceGrpc.class) {
        if ((getGetCompactionPolicyMethod = CompactionServiceGrpc.getGetCompactionPolicyMethod) == null) {
          CompactionServiceGrpc.getGetCompactionPolicyMethod = getGetCompactionPolicyMethod =
              io.grpc.MethodDescriptor.<dev.threadkeep.v1.GetCompactionPolicyRequest, dev.threadkeep.v1.GetCompactionPolicyResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetCompactionPolicy"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.GetCompactionPolicyRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.GetCompactionPolicyResponse.getDefaultInstance()))
              .setSchemaDescriptor(new CompactionServiceMethodDescriptorSupplier("GetCompactionPolicy"))
              .build();
        }
      }
    }
    return getGetCompactionPolicyMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static CompactionServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<CompactionServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<CompactionServiceStub>() {
        @java.lang.Override
        public CompactionServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new CompactionServiceStub(channel, callOptions);
        }
      };
    return CompactionServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports all types of calls on the service
   */
  public static CompactionServiceBlockingV2Stub newBlockingV2Stub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<CompactionServiceBlockingV2Stub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<CompactionServiceBlockingV2Stub>() {
        @java.lang.Override
        public CompactionServiceBlockingV2Stub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new CompactionServiceBlockingV2Stub(channel, callOptions);
        }
      };
    return CompactionServiceBlockingV2Stub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static CompactionServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<CompactionServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<CompactionServiceBlockingStub>() {
        @java.lang.Override
        public CompactionServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new CompactionServiceBlockingStub(channel, callOptions);
        }
      };
    return CompactionServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static CompactionServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<CompactionServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<CompactionServiceFutureStub>() {
        @java.lang.Override
        public CompactionServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new CompactionServiceFutureStub(channel, callOptions);
        }
      };
    return CompactionServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * Compacts sessions. A compaction archives events and inserts synthetic ones; it deletes nothing. Concurrent appends do
   * not invalidate a compaction. Only another compaction of the same session does, or any change if the caller requests
   * the strict precondition.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * Compacts a session now. The server runs the strategy and calls a model if the strategy needs one. If another
     * compaction is committed first, the server retries on the new window, without calling the model twice for the same
     * text. Having nothing to compact is not an error.
     * Errors: SESSION_NOT_FOUND, INVALID_FIELD, SUMMARIZER_NOT_CONFIGURED, SUMMARIZER_FAILED, WEBHOOK_FAILED, VERSION_MISMATCH
     * (after several lost races).
     * </pre>
     */
    default void compactSession(dev.threadkeep.v1.CompactSessionRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.CompactSessionResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getCompactSessionMethod(), responseObserver);
    }

    /**
     * <pre>
     * Returns the changes that a strategy would make. The caller applies them with ApplyCompaction, with a summary from
     * its own model.
     * Errors: SESSION_NOT_FOUND, INVALID_FIELD, WEBHOOK_FAILED.
     * </pre>
     */
    default void planCompaction(dev.threadkeep.v1.PlanCompactionRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.PlanCompactionResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getPlanCompactionMethod(), responseObserver);
    }

    /**
     * <pre>
     * Archives and inserts events, provided that no other compaction was committed since the caller read the window.
     * Errors: SESSION_NOT_FOUND, VERSION_MISMATCH, NOTHING_TO_COMPACT, BROKEN_TOOL_PAIR, EVENT_NOT_FOUND,
     * EVENT_ID_CONFLICT, EVENT_TOO_LARGE, BATCH_TOO_LARGE, INVALID_FIELD.
     * </pre>
     */
    default void applyCompaction(dev.threadkeep.v1.ApplyCompactionRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.ApplyCompactionResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getApplyCompactionMethod(), responseObserver);
    }

    /**
     * <pre>
     * Sets the whole active window, with compare-and-swap on the log version. Events that leave the window are archived,
     * not deleted.
     * Errors: SESSION_NOT_FOUND, BROKEN_TOOL_PAIR, EVENT_ID_CONFLICT, EVENT_TOO_LARGE, BATCH_TOO_LARGE, INVALID_FIELD.
     * </pre>
     */
    default void replaceEvents(dev.threadkeep.v1.ReplaceEventsRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.ReplaceEventsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getReplaceEventsMethod(), responseObserver);
    }

    /**
     * <pre>
     * Lists the compactions of a session, newest first.
     * Errors: SESSION_NOT_FOUND, INVALID_PAGE_TOKEN.
     * </pre>
     */
    default void listCompactions(dev.threadkeep.v1.ListCompactionsRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.ListCompactionsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListCompactionsMethod(), responseObserver);
    }

    /**
     * <pre>
     * Sets, replaces or removes the policy of a scope.
     * Errors: SESSION_NOT_FOUND, INVALID_FIELD, PERMISSION_DENIED.
     * </pre>
     */
    default void setCompactionPolicy(dev.threadkeep.v1.SetCompactionPolicyRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.SetCompactionPolicyResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getSetCompactionPolicyMethod(), responseObserver);
    }

    /**
     * <pre>
     * Returns the policy of a scope and, for a session, the policy in effect.
     * Errors: SESSION_NOT_FOUND.
     * </pre>
     */
    default void getCompactionPolicy(dev.threadkeep.v1.GetCompactionPolicyRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.GetCompactionPolicyResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetCompactionPolicyMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service CompactionService.
   * <pre>
   * Compacts sessions. A compaction archives events and inserts synthetic ones; it deletes nothing. Concurrent appends do
   * not invalidate a compaction. Only another compaction of the same session does, or any change if the caller requests
   * the strict precondition.
   * </pre>
   */
  public static abstract class CompactionServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return CompactionServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service CompactionService.
   * <pre>
   * Compacts sessions. A compaction archives events and inserts synthetic ones; it deletes nothing. Concurrent appends do
   * not invalidate a compaction. Only another compaction of the same session does, or any change if the caller requests
   * the strict precondition.
   * </pre>
   */
  public static final class CompactionServiceStub
      extends io.grpc.stub.AbstractAsyncStub<CompactionServiceStub> {
    private CompactionServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected CompactionServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new CompactionServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * Compacts a session now. The server runs the strategy and calls a model if the strategy needs one. If another
     * compaction is committed first, the server retries on the new window, without calling the model twice for the same
     * text. Having nothing to compact is not an error.
     * Errors: SESSION_NOT_FOUND, INVALID_FIELD, SUMMARIZER_NOT_CONFIGURED, SUMMARIZER_FAILED, WEBHOOK_FAILED, VERSION_MISMATCH
     * (after several lost races).
     * </pre>
     */
    public void compactSession(dev.threadkeep.v1.CompactSessionRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.CompactSessionResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getCompactSessionMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Returns the changes that a strategy would make. The caller applies them with ApplyCompaction, with a summary from
     * its own model.
     * Errors: SESSION_NOT_FOUND, INVALID_FIELD, WEBHOOK_FAILED.
     * </pre>
     */
    public void planCompaction(dev.threadkeep.v1.PlanCompactionRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.PlanCompactionResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getPlanCompactionMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Archives and inserts events, provided that no other compaction was committed since the caller read the window.
     * Errors: SESSION_NOT_FOUND, VERSION_MISMATCH, NOTHING_TO_COMPACT, BROKEN_TOOL_PAIR, EVENT_NOT_FOUND,
     * EVENT_ID_CONFLICT, EVENT_TOO_LARGE, BATCH_TOO_LARGE, INVALID_FIELD.
     * </pre>
     */
    public void applyCompaction(dev.threadkeep.v1.ApplyCompactionRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.ApplyCompactionResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getApplyCompactionMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Sets the whole active window, with compare-and-swap on the log version. Events that leave the window are archived,
     * not deleted.
     * Errors: SESSION_NOT_FOUND, BROKEN_TOOL_PAIR, EVENT_ID_CONFLICT, EVENT_TOO_LARGE, BATCH_TOO_LARGE, INVALID_FIELD.
     * </pre>
     */
    public void replaceEvents(dev.threadkeep.v1.ReplaceEventsRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.ReplaceEventsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getReplaceEventsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Lists the compactions of a session, newest first.
     * Errors: SESSION_NOT_FOUND, INVALID_PAGE_TOKEN.
     * </pre>
     */
    public void listCompactions(dev.threadkeep.v1.ListCompactionsRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.ListCompactionsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListCompactionsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Sets, replaces or removes the policy of a scope.
     * Errors: SESSION_NOT_FOUND, INVALID_FIELD, PERMISSION_DENIED.
     * </pre>
     */
    public void setCompactionPolicy(dev.threadkeep.v1.SetCompactionPolicyRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.SetCompactionPolicyResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getSetCompactionPolicyMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Returns the policy of a scope and, for a session, the policy in effect.
     * Errors: SESSION_NOT_FOUND.
     * </pre>
     */
    public void getCompactionPolicy(dev.threadkeep.v1.GetCompactionPolicyRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.GetCompactionPolicyResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetCompactionPolicyMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service CompactionService.
   * <pre>
   * Compacts sessions. A compaction archives events and inserts synthetic ones; it deletes nothing. Concurrent appends do
   * not invalidate a compaction. Only another compaction of the same session does, or any change if the caller requests
   * the strict precondition.
   * </pre>
   */
  public static final class CompactionServiceBlockingV2Stub
      extends io.grpc.stub.AbstractBlockingStub<CompactionServiceBlockingV2Stub> {
    private CompactionServiceBlockingV2Stub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected CompactionServiceBlockingV2Stub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new CompactionServiceBlockingV2Stub(channel, callOptions);
    }

    /**
     * <pre>
     * Compacts a session now. The server runs the strategy and calls a model if the strategy needs one. If another
     * compaction is committed first, the server retries on the new window, without calling the model twice for the same
     * text. Having nothing to compact is not an error.
     * Errors: SESSION_NOT_FOUND, INVALID_FIELD, SUMMARIZER_NOT_CONFIGURED, SUMMARIZER_FAILED, WEBHOOK_FAILED, VERSION_MISMATCH
     * (after several lost races).
     * </pre>
     */
    public dev.threadkeep.v1.CompactSessionResponse compactSession(dev.threadkeep.v1.CompactSessionRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getCompactSessionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Returns the changes that a strategy would make. The caller applies them with ApplyCompaction, with a summary from
     * its own model.
     * Errors: SESSION_NOT_FOUND, INVALID_FIELD, WEBHOOK_FAILED.
     * </pre>
     */
    public dev.threadkeep.v1.PlanCompactionResponse planCompaction(dev.threadkeep.v1.PlanCompactionRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getPlanCompactionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Archives and inserts events, provided that no other compaction was committed since the caller read the window.
     * Errors: SESSION_NOT_FOUND, VERSION_MISMATCH, NOTHING_TO_COMPACT, BROKEN_TOOL_PAIR, EVENT_NOT_FOUND,
     * EVENT_ID_CONFLICT, EVENT_TOO_LARGE, BATCH_TOO_LARGE, INVALID_FIELD.
     * </pre>
     */
    public dev.threadkeep.v1.ApplyCompactionResponse applyCompaction(dev.threadkeep.v1.ApplyCompactionRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getApplyCompactionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Sets the whole active window, with compare-and-swap on the log version. Events that leave the window are archived,
     * not deleted.
     * Errors: SESSION_NOT_FOUND, BROKEN_TOOL_PAIR, EVENT_ID_CONFLICT, EVENT_TOO_LARGE, BATCH_TOO_LARGE, INVALID_FIELD.
     * </pre>
     */
    public dev.threadkeep.v1.ReplaceEventsResponse replaceEvents(dev.threadkeep.v1.ReplaceEventsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getReplaceEventsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists the compactions of a session, newest first.
     * Errors: SESSION_NOT_FOUND, INVALID_PAGE_TOKEN.
     * </pre>
     */
    public dev.threadkeep.v1.ListCompactionsResponse listCompactions(dev.threadkeep.v1.ListCompactionsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListCompactionsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Sets, replaces or removes the policy of a scope.
     * Errors: SESSION_NOT_FOUND, INVALID_FIELD, PERMISSION_DENIED.
     * </pre>
     */
    public dev.threadkeep.v1.SetCompactionPolicyResponse setCompactionPolicy(dev.threadkeep.v1.SetCompactionPolicyRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getSetCompactionPolicyMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Returns the policy of a scope and, for a session, the policy in effect.
     * Errors: SESSION_NOT_FOUND.
     * </pre>
     */
    public dev.threadkeep.v1.GetCompactionPolicyResponse getCompactionPolicy(dev.threadkeep.v1.GetCompactionPolicyRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetCompactionPolicyMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do limited synchronous rpc calls to service CompactionService.
   * <pre>
   * Compacts sessions. A compaction archives events and inserts synthetic ones; it deletes nothing. Concurrent appends do
   * not invalidate a compaction. Only another compaction of the same session does, or any change if the caller requests
   * the strict precondition.
   * </pre>
   */
  public static final class CompactionServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<CompactionServiceBlockingStub> {
    private CompactionServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected CompactionServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new CompactionServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * Compacts a session now. The server runs the strategy and calls a model if the strategy needs one. If another
     * compaction is committed first, the server retries on the new window, without calling the model twice for the same
     * text. Having nothing to compact is not an error.
     * Errors: SESSION_NOT_FOUND, INVALID_FIELD, SUMMARIZER_NOT_CONFIGURED, SUMMARIZER_FAILED, WEBHOOK_FAILED, VERSION_MISMATCH
     * (after several lost races).
     * </pre>
     */
    public dev.threadkeep.v1.CompactSessionResponse compactSession(dev.threadkeep.v1.CompactSessionRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getCompactSessionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Returns the changes that a strategy would make. The caller applies them with ApplyCompaction, with a summary from
     * its own model.
     * Errors: SESSION_NOT_FOUND, INVALID_FIELD, WEBHOOK_FAILED.
     * </pre>
     */
    public dev.threadkeep.v1.PlanCompactionResponse planCompaction(dev.threadkeep.v1.PlanCompactionRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getPlanCompactionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Archives and inserts events, provided that no other compaction was committed since the caller read the window.
     * Errors: SESSION_NOT_FOUND, VERSION_MISMATCH, NOTHING_TO_COMPACT, BROKEN_TOOL_PAIR, EVENT_NOT_FOUND,
     * EVENT_ID_CONFLICT, EVENT_TOO_LARGE, BATCH_TOO_LARGE, INVALID_FIELD.
     * </pre>
     */
    public dev.threadkeep.v1.ApplyCompactionResponse applyCompaction(dev.threadkeep.v1.ApplyCompactionRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getApplyCompactionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Sets the whole active window, with compare-and-swap on the log version. Events that leave the window are archived,
     * not deleted.
     * Errors: SESSION_NOT_FOUND, BROKEN_TOOL_PAIR, EVENT_ID_CONFLICT, EVENT_TOO_LARGE, BATCH_TOO_LARGE, INVALID_FIELD.
     * </pre>
     */
    public dev.threadkeep.v1.ReplaceEventsResponse replaceEvents(dev.threadkeep.v1.ReplaceEventsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getReplaceEventsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists the compactions of a session, newest first.
     * Errors: SESSION_NOT_FOUND, INVALID_PAGE_TOKEN.
     * </pre>
     */
    public dev.threadkeep.v1.ListCompactionsResponse listCompactions(dev.threadkeep.v1.ListCompactionsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListCompactionsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Sets, replaces or removes the policy of a scope.
     * Errors: SESSION_NOT_FOUND, INVALID_FIELD, PERMISSION_DENIED.
     * </pre>
     */
    public dev.threadkeep.v1.SetCompactionPolicyResponse setCompactionPolicy(dev.threadkeep.v1.SetCompactionPolicyRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getSetCompactionPolicyMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Returns the policy of a scope and, for a session, the policy in effect.
     * Errors: SESSION_NOT_FOUND.
     * </pre>
     */
    public dev.threadkeep.v1.GetCompactionPolicyResponse getCompactionPolicy(dev.threadkeep.v1.GetCompactionPolicyRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetCompactionPolicyMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service CompactionService.
   * <pre>
   * Compacts sessions. A compaction archives events and inserts synthetic ones; it deletes nothing. Concurrent appends do
   * not invalidate a compaction. Only another compaction of the same session does, or any change if the caller requests
   * the strict precondition.
   * </pre>
   */
  public static final class CompactionServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<CompactionServiceFutureStub> {
    private CompactionServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected CompactionServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new CompactionServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * Compacts a session now. The server runs the strategy and calls a model if the strategy needs one. If another
     * compaction is committed first, the server retries on the new window, without calling the model twice for the same
     * text. Having nothing to compact is not an error.
     * Errors: SESSION_NOT_FOUND, INVALID_FIELD, SUMMARIZER_NOT_CONFIGURED, SUMMARIZER_FAILED, WEBHOOK_FAILED, VERSION_MISMATCH
     * (after several lost races).
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.threadkeep.v1.CompactSessionResponse> compactSession(
        dev.threadkeep.v1.CompactSessionRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getCompactSessionMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Returns the changes that a strategy would make. The caller applies them with ApplyCompaction, with a summary from
     * its own model.
     * Errors: SESSION_NOT_FOUND, INVALID_FIELD, WEBHOOK_FAILED.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.threadkeep.v1.PlanCompactionResponse> planCompaction(
        dev.threadkeep.v1.PlanCompactionRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getPlanCompactionMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Archives and inserts events, provided that no other compaction was committed since the caller read the window.
     * Errors: SESSION_NOT_FOUND, VERSION_MISMATCH, NOTHING_TO_COMPACT, BROKEN_TOOL_PAIR, EVENT_NOT_FOUND,
     * EVENT_ID_CONFLICT, EVENT_TOO_LARGE, BATCH_TOO_LARGE, INVALID_FIELD.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.threadkeep.v1.ApplyCompactionResponse> applyCompaction(
        dev.threadkeep.v1.ApplyCompactionRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getApplyCompactionMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Sets the whole active window, with compare-and-swap on the log version. Events that leave the window are archived,
     * not deleted.
     * Errors: SESSION_NOT_FOUND, BROKEN_TOOL_PAIR, EVENT_ID_CONFLICT, EVENT_TOO_LARGE, BATCH_TOO_LARGE, INVALID_FIELD.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.threadkeep.v1.ReplaceEventsResponse> replaceEvents(
        dev.threadkeep.v1.ReplaceEventsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getReplaceEventsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Lists the compactions of a session, newest first.
     * Errors: SESSION_NOT_FOUND, INVALID_PAGE_TOKEN.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.threadkeep.v1.ListCompactionsResponse> listCompactions(
        dev.threadkeep.v1.ListCompactionsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListCompactionsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Sets, replaces or removes the policy of a scope.
     * Errors: SESSION_NOT_FOUND, INVALID_FIELD, PERMISSION_DENIED.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.threadkeep.v1.SetCompactionPolicyResponse> setCompactionPolicy(
        dev.threadkeep.v1.SetCompactionPolicyRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getSetCompactionPolicyMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Returns the policy of a scope and, for a session, the policy in effect.
     * Errors: SESSION_NOT_FOUND.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.threadkeep.v1.GetCompactionPolicyResponse> getCompactionPolicy(
        dev.threadkeep.v1.GetCompactionPolicyRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetCompactionPolicyMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_COMPACT_SESSION = 0;
  private static final int METHODID_PLAN_COMPACTION = 1;
  private static final int METHODID_APPLY_COMPACTION = 2;
  private static final int METHODID_REPLACE_EVENTS = 3;
  private static final int METHODID_LIST_COMPACTIONS = 4;
  private static final int METHODID_SET_COMPACTION_POLICY = 5;
  private static final int METHODID_GET_COMPACTION_POLICY = 6;

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
        case METHODID_COMPACT_SESSION:
          serviceImpl.compactSession((dev.threadkeep.v1.CompactSessionRequest) request,
              (io.grpc.stub.StreamObserver<dev.threadkeep.v1.CompactSessionResponse>) responseObserver);
          break;
        case METHODID_PLAN_COMPACTION:
          serviceImpl.planCompaction((dev.threadkeep.v1.PlanCompactionRequest) request,
              (io.grpc.stub.StreamObserver<dev.threadkeep.v1.PlanCompactionResponse>) responseObserver);
          break;
        case METHODID_APPLY_COMPACTION:
          serviceImpl.applyCompaction((dev.threadkeep.v1.ApplyCompactionRequest) request,
              (io.grpc.stub.StreamObserver<dev.threadkeep.v1.ApplyCompactionResponse>) responseObserver);
          break;
        case METHODID_REPLACE_EVENTS:
          serviceImpl.replaceEvents((dev.threadkeep.v1.ReplaceEventsRequest) request,
              (io.grpc.stub.StreamObserver<dev.threadkeep.v1.ReplaceEventsResponse>) responseObserver);
          break;
        case METHODID_LIST_COMPACTIONS:
          serviceImpl.listCompactions((dev.threadkeep.v1.ListCompactionsRequest) request,
              (io.grpc.stub.StreamObserver<dev.threadkeep.v1.ListCompactionsResponse>) responseObserver);
          break;
        case METHODID_SET_COMPACTION_POLICY:
          serviceImpl.setCompactionPolicy((dev.threadkeep.v1.SetCompactionPolicyRequest) request,
              (io.grpc.stub.StreamObserver<dev.threadkeep.v1.SetCompactionPolicyResponse>) responseObserver);
          break;
        case METHODID_GET_COMPACTION_POLICY:
          serviceImpl.getCompactionPolicy((dev.threadkeep.v1.GetCompactionPolicyRequest) request,
              (io.grpc.stub.StreamObserver<dev.threadkeep.v1.GetCompactionPolicyResponse>) responseObserver);
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
          getCompactSessionMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.threadkeep.v1.CompactSessionRequest,
              dev.threadkeep.v1.CompactSessionResponse>(
                service, METHODID_COMPACT_SESSION)))
        .addMethod(
          getPlanCompactionMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.threadkeep.v1.PlanCompactionRequest,
              dev.threadkeep.v1.PlanCompactionResponse>(
                service, METHODID_PLAN_COMPACTION)))
        .addMethod(
          getApplyCompactionMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.threadkeep.v1.ApplyCompactionRequest,
              dev.threadkeep.v1.ApplyCompactionResponse>(
                service, METHODID_APPLY_COMPACTION)))
        .addMethod(
          getReplaceEventsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.threadkeep.v1.ReplaceEventsRequest,
              dev.threadkeep.v1.ReplaceEventsResponse>(
                service, METHODID_REPLACE_EVENTS)))
        .addMethod(
          getListCompactionsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.threadkeep.v1.ListCompactionsRequest,
              dev.threadkeep.v1.ListCompactionsResponse>(
                service, METHODID_LIST_COMPACTIONS)))
        .addMethod(
          getSetCompactionPolicyMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.threadkeep.v1.SetCompactionPolicyRequest,
              dev.threadkeep.v1.SetCompactionPolicyResponse>(
                service, METHODID_SET_COMPACTION_POLICY)))
        .addMethod(
          getGetCompactionPolicyMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.threadkeep.v1.GetCompactionPolicyRequest,
              dev.threadkeep.v1.GetCompactionPolicyResponse>(
                service, METHODID_GET_COMPACTION_POLICY)))
        .build();
  }

  private static abstract class CompactionServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    CompactionServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return dev.threadkeep.v1.CompactionServiceOuterClass.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("CompactionService");
    }
  }

  private static final class CompactionServiceFileDescriptorSupplier
      extends CompactionServiceBaseDescriptorSupplier {
    CompactionServiceFileDescriptorSupplier() {}
  }

  private static final class CompactionServiceMethodDescriptorSupplier
      extends CompactionServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    CompactionServiceMethodDescriptorSupplier(java.lang.String methodName) {
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
      synchronized (CompactionServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new CompactionServiceFileDescriptorSupplier())
              .addMethod(getCompactSessionMethod())
              .addMethod(getPlanCompactionMethod())
              .addMethod(getApplyCompactionMethod())
              .addMethod(getReplaceEventsMethod())
              .addMethod(getListCompactionsMethod())
              .addMethod(getSetCompactionPolicyMethod())
              .addMethod(getGetCompactionPolicyMethod())
              .build();
        }
      }
    }
    return result;
  }
}
