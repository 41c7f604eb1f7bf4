package dev.threadkeep.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * Adds, searches and deletes long-term memory. Every method returns MEMORY_NOT_CONFIGURED if memory is disabled, and
 * PERMISSION_DENIED for data beyond the credential's user.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class MemoryServiceGrpc {

  private MemoryServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "threadkeep.v1.MemoryService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<dev.threadkeep.v1.AddSessionToMemoryRequest,
      dev.threadkeep.v1.AddSessionToMemoryResponse> getAddSessionToMemoryMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "AddSessionToMemory",
      requestType = dev.threadkeep.v1.AddSessionToMemoryRequest.class,
      responseType = dev.threadkeep.v1.AddSessionToMemoryResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.threadkeep.v1.AddSessionToMemoryRequest,
      dev.threadkeep.v1.AddSessionToMemoryResponse> getAddSessionToMemoryMethod() {
    io.grpc.MethodDescriptor<dev.threadkeep.v1.AddSessionToMemoryRequest, dev.threadkeep.v1.AddSessionToMemoryResponse> getAddSessionToMemoryMethod;
    if ((getAddSessionToMemoryMethod = MemoryServiceGrpc.getAddSessionToMemoryMethod) == null) {
      synchronized (MemoryServiceGrpc.class) {
        if ((getAddSessionToMemoryMethod = MemoryServiceGrpc.getAddSessionToMemoryMethod) == null) {
          MemoryServiceGrpc.getAddSessionToMemoryMethod = getAddSessionToMemoryMethod =
              io.grpc.MethodDescriptor.<dev.threadkeep.v1.AddSessionToMemoryRequest, dev.threadkeep.v1.AddSessionToMemoryResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "AddSessionToMemory"))
              .setIdempotent(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.AddSessionToMemoryRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.AddSessionToMemoryResponse.getDefaultInstance()))
              .setSchemaDescriptor(new MemoryServiceMethodDescriptorSupplier("AddSessionToMemory"))
              .build();
        }
      }
    }
    return getAddSessionToMemoryMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.threadkeep.v1.AddMemoriesRequest,
      dev.threadkeep.v1.AddMemoriesResponse> getAddMemoriesMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "AddMemories",
      requestType = dev.threadkeep.v1.AddMemoriesRequest.class,
      responseType = dev.threadkeep.v1.AddMemoriesResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.threadkeep.v1.AddMemoriesRequest,
      dev.threadkeep.v1.AddMemoriesResponse> getAddMemoriesMethod() {
    io.grpc.MethodDescriptor<dev.threadkeep.v1.AddMemoriesRequest, dev.threadkeep.v1.AddMemoriesResponse> getAddMemoriesMethod;
    if ((getAddMemoriesMethod = MemoryServiceGrpc.getAddMemoriesMethod) == null) {
      synchronized (MemoryServiceGrpc.class) {
        if ((getAddMemoriesMethod = MemoryServiceGrpc.getAddMemoriesMethod) == null) {
          MemoryServiceGrpc.getAddMemoriesMethod = getAddMemoriesMethod =
              io.grpc.MethodDescriptor.<dev.threadkeep.v1.AddMemoriesRequest, dev.threadkeep.v1.AddMemoriesResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "AddMemories"))
              .setIdempotent(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.AddMemoriesRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.AddMemoriesResponse.getDefaultInstance()))
              .setSchemaDescriptor(new MemoryServiceMethodDescriptorSupplier("AddMemories"))
              .build();
        }
      }
    }
    return getAddMemoriesMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.threadkeep.v1.UpsertMemoriesRequest,
      dev.threadkeep.v1.UpsertMemoriesResponse> getUpsertMemoriesMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "UpsertMemories",
      requestType = dev.threadkeep.v1.UpsertMemoriesRequest.class,
      responseType = dev.threadkeep.v1.UpsertMemoriesResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.threadkeep.v1.UpsertMemoriesRequest,
      dev.threadkeep.v1.UpsertMemoriesResponse> getUpsertMemoriesMethod() {
    io.grpc.MethodDescriptor<dev.threadkeep.v1.UpsertMemoriesRequest, dev.threadkeep.v1.UpsertMemoriesResponse> getUpsertMemoriesMethod;
    if ((getUpsertMemoriesMethod = MemoryServiceGrpc.getUpsertMemoriesMethod) == null) {
      synchronized (MemoryServiceGrpc.class) {
        if ((getUpsertMemoriesMethod = MemoryServiceGrpc.getUpsertMemoriesMethod) == null) {
          MemoryServiceGrpc.getUpsertMemoriesMethod = getUpsertMemoriesMethod =
              io.grpc.MethodDescriptor.<dev.threadkeep.v1.UpsertMemoriesRequest, dev.threadkeep.v1.UpsertMemoriesResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "UpsertMemories"))
              .setIdempotent(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.UpsertMemoriesRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.UpsertMemoriesResponse.getDefaultInstance()))
              .setSchemaDescriptor(new MemoryServiceMethodDescriptorSupplier("UpsertMemories"))
              .build();
        }
      }
    }
    return getUpsertMemoriesMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.threadkeep.v1.GetMemoriesRequest,
      dev.threadkeep.v1.GetMemoriesResponse> getGetMemoriesMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetMemories",
      requestType = dev.threadkeep.v1.GetMemoriesRequest.class,
      responseType = dev.threadkeep.v1.GetMemoriesResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.threadkeep.v1.GetMemoriesRequest,
      dev.threadkeep.v1.GetMemoriesResponse> getGetMemoriesMethod() {
    io.grpc.MethodDescriptor<dev.threadkeep.v1.GetMemoriesRequest, dev.threadkeep.v1.GetMemoriesResponse> getGetMemoriesMethod;
    if ((getGetMemoriesMethod = MemoryServiceGrpc.getGetMemoriesMethod) == null) {
      synchronized (MemoryServiceGrpc.class) {
        if ((getGetMemoriesMethod = MemoryServiceGrpc.getGetMemoriesMethod) == null) {
          MemoryServiceGrpc.getGetMemoriesMethod = getGetMemoriesMethod =
              io.grpc.MethodDescriptor.<dev.threadkeep.v1.GetMemoriesRequest, dev.threadkeep.v1.GetMemoriesResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetMemories"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.GetMemoriesRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.GetMemoriesResponse.getDefaultInstance()))
              .setSchemaDescriptor(new MemoryServiceMethodDescriptorSupplier("GetMemories"))
              .build();
        }
      }
    }
    return getGetMemoriesMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.threadkeep.v1.SearchMemoryRequest,
      dev.threadkeep.v1.SearchMemoryResponse> getSearchMemoryMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "SearchMemory",
      requestType = dev.threadkeep.v1.SearchMemoryRequest.class,
      responseType = dev.threadkeep.v1.SearchMemoryResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.threadkeep.v1.SearchMemoryRequest,
      dev.threadkeep.v1.SearchMemoryResponse> getSearchMemoryMethod() {
    io.grpc.MethodDescriptor<dev.threadkeep.v1.SearchMemoryRequest, dev.threadkeep.v1.SearchMemoryResponse> getSearchMemoryMethod;
    if ((getSearchMemoryMethod = MemoryServiceGrpc.getSearchMemoryMethod) == null) {
      synchronized (MemoryServiceGrpc.class) {
        if ((getSearchMemoryMethod = MemoryServiceGrpc.getSearchMemoryMethod) == null) {
          MemoryServiceGrpc.getSearchMemoryMethod = getSearchMemoryMethod =
              io.grpc.MethodDescriptor.<dev.threadkeep.v1.SearchMemoryRequest, dev.threadkeep.v1.SearchMemoryResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "SearchMemory"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.SearchMemoryRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.SearchMemoryResponse.getDefaultInstance()))
              .setSchemaDescriptor(new MemoryServiceMethodDescriptorSupplier("SearchMemory"))
              .build();
        }
      }
    }
    return getSearchMemoryMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.threadkeep.v1.ListMemoriesRequest,
      dev.threadkeep.v1.ListMemoriesResponse> getListMemoriesMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListMemories",
      requestType = dev.threadkeep.v1.ListMemoriesRequest.class,
      responseType = dev.threadkeep.v1.ListMemoriesResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.threadkeep.v1.ListMemoriesRequest,
      dev.threadkeep.v1.ListMemoriesResponse> getListMemoriesMethod() {
    io.grpc.MethodDescriptor<dev.threadkeep.v1.ListMemoriesRequest, dev.threadkeep.v1.ListMemoriesResponse> getListMemoriesMethod;
    if ((getListMemoriesMethod = MemoryServiceGrpc.getListMemoriesMethod) == null) {
      synchronized (MemoryServiceGrpc.class) {
        if ((getListMemoriesMethod = MemoryServiceGrpc.getListMemoriesMethod) == null) {
          MemoryServiceGrpc.getListMemoriesMethod = getListMemoriesMethod =
              io.grpc.MethodDescriptor.<dev.threadkeep.v1.ListMemoriesRequest, dev.threadkeep.v1.ListMemoriesResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListMemories"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.ListMemoriesRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.ListMemoriesResponse.getDefaultInstance()))
              .setSchemaDescriptor(new MemoryServiceMethodDescriptorSupplier("ListMemories"))
              .build();
        }
      }
    }
    return getListMemoriesMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.threadkeep.v1.ListMemoryNamespacesRequest,
      dev.threadkeep.v1.ListMemoryNamespacesResponse> getListMemoryNamespacesMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListMemoryNamespaces",
      requestType = dev.threadkeep.v1.ListMemoryNamespacesRequest.class,
      responseType = dev.threadkeep.v1.ListMemoryNamespacesResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.threadkeep.v1.ListMemoryNamespacesRequest,
      dev.threadkeep.v1.ListMemoryNamespacesResponse> getListMemoryNamespacesMethod() {
    io.grpc.MethodDescriptor<dev.threadkeep.v1.ListMemoryNamespacesRequest, dev.threadkeep.v1.ListMemoryNamespacesResponse> getListMemoryNamespacesMethod;
    if ((getListMemoryNamespacesMethod = MemoryServiceGrpc.getListMemoryNamespacesMethod) == null) {
      synchronized (MemoryServiceGrpc.class) {
        if ((getListMemoryNamespacesMethod = MemoryServiceGrpc.getListMemoryNamespacesMethod) == null) {
          MemoryServiceGrpc.getListMemoryNamespacesMethod = getListMemoryNamespacesMethod =
              io.grpc.MethodDescriptor.<dev.threadkeep.v1.ListMemoryNamespacesRequest, dev.threadkeep.v1.ListMemoryNamespacesResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListMemoryNamespaces"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.ListMemoryNamespacesRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.ListMemoryNamespacesResponse.getDefaultInstance()))
              .setSchemaDescriptor(new MemoryServiceMethodDescriptorSupplier("ListMemoryNamespaces"))
              .build();
        }
      }
    }
    return getListMemoryNamespacesMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.threadkeep.v1.DeleteMemoriesRequest,
      dev.threadkeep.v1.DeleteMemoriesResponse> getDeleteMemoriesMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "DeleteMemories",
      requestType = dev.threadkeep.v1.DeleteMemoriesRequest.class,
      responseType = dev.threadkeep.v1.DeleteMemoriesResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.threadkeep.v1.DeleteMemoriesRequest,
      dev.threadkeep.v1.DeleteMemoriesResponse> getDeleteMemoriesMethod() {
    io.grpc.MethodDescriptor<dev.threadkeep.v1.DeleteMemoriesRequest, dev.threadkeep.v1.DeleteMemoriesResponse> getDeleteMemoriesMethod;
    if ((getDeleteMemoriesMethod = MemoryServiceGrpc.getDeleteMemoriesMethod) == null) {
      synchronized (MemoryServiceGrpc.class) {
        if ((getDeleteMemoriesMethod = MemoryServiceGrpc.getDeleteMemoriesMethod) == null) {
          MemoryServiceGrpc.getDeleteMemoriesMethod = getDeleteMemoriesMethod =
              io.grpc.MethodDescriptor.<dev.threadkeep.v1.DeleteMemoriesRequest, dev.threadkeep.v1.DeleteMemoriesResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "DeleteMemories"))
              .setIdempotent(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.DeleteMemoriesRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.DeleteMemoriesResponse.getDefaultInstance()))
              .setSchemaDescriptor(new MemoryServiceMethodDescriptorSupplier("DeleteMemories"))
              .build();
        }
      }
    }
    return getDeleteMemoriesMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static MemoryServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<MemoryServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<MemoryServiceStub>() {
        @java.lang.Override
        public MemoryServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new MemoryServiceStub(channel, callOptions);
        }
      };
    return MemoryServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports all types of calls on the service
   */
  public static MemoryServiceBlockingV2Stub newBlockingV2Stub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<MemoryServiceBlockingV2Stub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<MemoryServiceBlockingV2Stub>() {
        @java.lang.Override
        public MemoryServiceBlockingV2Stub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new MemoryServiceBlockingV2Stub(channel, callOptions);
        }
      };
    return MemoryServiceBlockingV2Stub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static MemoryServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<MemoryServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<MemoryServiceBlockingStub>() {
        @java.lang.Override
        public MemoryServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new MemoryServiceBlockingStub(channel, callOptions);
        }
      };
    return MemoryServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static MemoryServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<MemoryServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<MemoryServiceFutureStub>() {
        @java.lang.Override
        public MemoryServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new MemoryServiceFutureStub(channel, callOptions);
        }
      };
    return MemoryServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * Adds, searches and deletes long-term memory. Every method returns MEMORY_NOT_CONFIGURED if memory is disabled, and
   * PERMISSION_DENIED for data beyond the credential's user.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * Ingests a session: adds one entry per event with text, or only for the specified events. Existing entries are
     * unchanged and deleted entries stay deleted, so the call can be repeated.
     * Errors: SESSION_NOT_FOUND, AMBIGUOUS_SESSION, EVENT_NOT_FOUND, INVALID_FIELD.
     * </pre>
     */
    default void addSessionToMemory(dev.threadkeep.v1.AddSessionToMemoryRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.AddSessionToMemoryResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getAddSessionToMemoryMethod(), responseObserver);
    }

    /**
     * <pre>
     * Adds entries, all or none. An existing id with the same content is a replay; with different content it returns
     * MEMORY_ID_CONFLICT. A deleted id may be added again.
     * Errors: INVALID_FIELD, BATCH_TOO_LARGE, EVENT_TOO_LARGE.
     * </pre>
     */
    default void addMemories(dev.threadkeep.v1.AddMemoriesRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.AddMemoriesResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getAddMemoriesMethod(), responseObserver);
    }

    /**
     * <pre>
     * Writes entries, all or none. An entry with the same namespace and id is replaced: its text, embedding, metadata and
     * ttl, while record_time stays. A deleted id may be written again. A repeated request changes nothing but expire_time.
     * Errors: VERSION_MISMATCH (of an expected_etag), INVALID_FIELD, BATCH_TOO_LARGE, EVENT_TOO_LARGE.
     * </pre>
     */
    default void upsertMemories(dev.threadkeep.v1.UpsertMemoriesRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.UpsertMemoriesResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getUpsertMemoriesMethod(), responseObserver);
    }

    /**
     * <pre>
     * Returns entries by name, in request order.
     * Errors: INVALID_FIELD, PERMISSION_DENIED (refresh_ttl without the role WRITER).
     * </pre>
     */
    default void getMemories(dev.threadkeep.v1.GetMemoriesRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.GetMemoriesResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetMemoriesMethod(), responseObserver);
    }

    /**
     * <pre>
     * Returns the entries that match a query, best first (SUBSTRING: newest first). An empty query returns nothing.
     * Errors: INVALID_FIELD, EMBEDDER_NOT_CONFIGURED, EMBEDDER_FAILED, RATE_LIMITED (too many searches at a time),
     * PERMISSION_DENIED (refresh_ttl without the role WRITER).
     * </pre>
     */
    default void searchMemory(dev.threadkeep.v1.SearchMemoryRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.SearchMemoryResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getSearchMemoryMethod(), responseObserver);
    }

    /**
     * <pre>
     * Lists entries, most recently added or replaced first. An entry that is replaced meanwhile may be listed twice or not.
     * Errors: INVALID_FIELD, INVALID_PAGE_TOKEN, PERMISSION_DENIED (refresh_ttl without the role WRITER).
     * </pre>
     */
    default void listMemories(dev.threadkeep.v1.ListMemoriesRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.ListMemoriesResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListMemoriesMethod(), responseObserver);
    }

    /**
     * <pre>
     * Lists the namespaces that have entries, in the order of their labels by code point.
     * Errors: INVALID_FIELD, INVALID_PAGE_TOKEN.
     * </pre>
     */
    default void listMemoryNamespaces(dev.threadkeep.v1.ListMemoryNamespacesRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.ListMemoryNamespacesResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListMemoryNamespacesMethod(), responseObserver);
    }

    /**
     * <pre>
     * Deletes entries and their embeddings permanently. Deleted entries are no longer found. The response is a receipt.
     * Errors: INVALID_FIELD.
     * </pre>
     */
    default void deleteMemories(dev.threadkeep.v1.DeleteMemoriesRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.DeleteMemoriesResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getDeleteMemoriesMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service MemoryService.
   * <pre>
   * Adds, searches and deletes long-term memory. Every method returns MEMORY_NOT_CONFIGURED if memory is disabled, and
   * PERMISSION_DENIED for data beyond the credential's user.
   * </pre>
   */
  public static abstract class MemoryServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return MemoryServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service MemoryService.
   * <pre>
   * Adds, searches and deletes long-term memory. Every method returns MEMORY_NOT_CONFIGURED if memory is disabled, and
   * PERMISSION_DENIED for data beyond the credential's user.
   * </pre>
   */
  public static final class MemoryServiceStub
      extends io.grpc.stub.AbstractAsyncStub<MemoryServiceStub> {
    private MemoryServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected MemoryServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new MemoryServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * Ingests a session: adds one entry per event with text, or only for the specified events. Existing entries are
     * unchanged and deleted entries stay deleted, so the call can be repeated.
     * Errors: SESSION_NOT_FOUND, AMBIGUOUS_SESSION, EVENT_NOT_FOUND, INVALID_FIELD.
     * </pre>
     */
    public void addSessionToMemory(dev.threadkeep.v1.AddSessionToMemoryRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.AddSessionToMemoryResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getAddSessionToMemoryMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Adds entries, all or none. An existing id with the same content is a replay; with different content it returns
     * MEMORY_ID_CONFLICT. A deleted id may be added again.
     * Errors: INVALID_FIELD, BATCH_TOO_LARGE, EVENT_TOO_LARGE.
     * </pre>
     */
    public void addMemories(dev.threadkeep.v1.AddMemoriesRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.AddMemoriesResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getAddMemoriesMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Writes entries, all or none. An entry with the same namespace and id is replaced: its text, embedding, metadata and
     * ttl, while record_time stays. A deleted id may be written again. A repeated request changes nothing but expire_time.
     * Errors: VERSION_MISMATCH (of an expected_etag), INVALID_FIELD, BATCH_TOO_LARGE, EVENT_TOO_LARGE.
     * </pre>
     */
    public void upsertMemories(dev.threadkeep.v1.UpsertMemoriesRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.UpsertMemoriesResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getUpsertMemoriesMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Returns entries by name, in request order.
     * Errors: INVALID_FIELD, PERMISSION_DENIED (refresh_ttl without the role WRITER).
     * </pre>
     */
    public void getMemories(dev.threadkeep.v1.GetMemoriesRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.GetMemoriesResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetMemoriesMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Returns the entries that match a query, best first (SUBSTRING: newest first). An empty query returns nothing.
     * Errors: INVALID_FIELD, EMBEDDER_NOT_CONFIGURED, EMBEDDER_FAILED, RATE_LIMITED (too many searches at a time),
     * PERMISSION_DENIED (refresh_ttl without the role WRITER).
     * </pre>
     */
    public void searchMemory(dev.threadkeep.v1.SearchMemoryRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.SearchMemoryResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getSearchMemoryMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Lists entries, most recently added or replaced first. An entry that is replaced meanwhile may be listed twice or not.
     * Errors: INVALID_FIELD, INVALID_PAGE_TOKEN, PERMISSION_DENIED (refresh_ttl without the role WRITER).
     * </pre>
     */
    public void listMemories(dev.threadkeep.v1.ListMemoriesRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.ListMemoriesResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListMemoriesMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Lists the namespaces that have entries, in the order of their labels by code point.
     * Errors: INVALID_FIELD, INVALID_PAGE_TOKEN.
     * </pre>
     */
    public void listMemoryNamespaces(dev.threadkeep.v1.ListMemoryNamespacesRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.ListMemoryNamespacesResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListMemoryNamespacesMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Deletes entries and their embeddings permanently. Deleted entries are no longer found. The response is a receipt.
     * Errors: INVALID_FIELD.
     * </pre>
     */
    public void deleteMemories(dev.threadkeep.v1.DeleteMemoriesRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.DeleteMemoriesResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getDeleteMemoriesMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service MemoryService.
   * <pre>
   * Adds, searches and deletes long-term memory. Every method returns MEMORY_NOT_CONFIGURED if memory is disabled, and
   * PERMISSION_DENIED for data beyond the credential's user.
   * </pre>
   */
  public static final class MemoryServiceBlockingV2Stub
      extends io.grpc.stub.AbstractBlockingStub<MemoryServiceBlockingV2Stub> {
    private MemoryServiceBlockingV2Stub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected MemoryServiceBlockingV2Stub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new MemoryServiceBlockingV2Stub(channel, callOptions);
    }

    /**
     * <pre>
     * Ingests a session: adds one entry per event with text, or only for the specified events. Existing entries are
     * unchanged and deleted entries stay deleted, so the call can be repeated.
     * Errors: SESSION_NOT_FOUND, AMBIGUOUS_SESSION, EVENT_NOT_FOUND, INVALID_FIELD.
     * </pre>
     */
    public dev.threadkeep.v1.AddSessionToMemoryResponse addSessionToMemory(dev.threadkeep.v1.AddSessionToMemoryRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getAddSessionToMemoryMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Adds entries, all or none. An existing id with the same content is a replay; with different content it returns
     * MEMORY_ID_CONFLICT. A deleted id may be added again.
     * Errors: INVALID_FIELD, BATCH_TOO_LARGE, EVENT_TOO_LARGE.
     * </pre>
     */
    public dev.threadkeep.v1.AddMemoriesResponse addMemories(dev.threadkeep.v1.AddMemoriesRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getAddMemoriesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Writes entries, all or none. An entry with the same namespace and id is replaced: its text, embedding, metadata and
     * ttl, while record_time stays. A deleted id may be written again. A repeated request changes nothing but expire_time.
     * Errors: VERSION_MISMATCH (of an expected_etag), INVALID_FIELD, BATCH_TOO_LARGE, EVENT_TOO_LARGE.
     * </pre>
     */
    public dev.threadkeep.v1.UpsertMemoriesResponse upsertMemories(dev.threadkeep.v1.UpsertMemoriesRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getUpsertMemoriesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Returns entries by name, in request order.
     * Errors: INVALID_FIELD, PERMISSION_DENIED (refresh_ttl without the role WRITER).
     * </pre>
     */
    public dev.threadkeep.v1.GetMemoriesResponse getMemories(dev.threadkeep.v1.GetMemoriesRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetMemoriesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Returns the entries that match a query, best first (SUBSTRING: newest first). An empty query returns nothing.
     * Errors: INVALID_FIELD, EMBEDDER_NOT_CONFIGURED, EMBEDDER_FAILED, RATE_LIMITED (too many searches at a time),
     * PERMISSION_DENIED (refresh_ttl without the role WRITER).
     * </pre>
     */
    public dev.threadkeep.v1.SearchMemoryResponse searchMemory(dev.threadkeep.v1.SearchMemoryRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getSearchMemoryMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists entries, most recently added or replaced first. An entry that is replaced meanwhile may be listed twice or not.
     * Errors: INVALID_FIELD, INVALID_PAGE_TOKEN, PERMISSION_DENIED (refresh_ttl without the role WRITER).
     * </pre>
     */
    public dev.threadkeep.v1.ListMemoriesResponse listMemories(dev.threadkeep.v1.ListMemoriesRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListMemoriesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists the namespaces that have entries, in the order of their labels by code point.
     * Errors: INVALID_FIELD, INVALID_PAGE_TOKEN.
     * </pre>
     */
    public dev.threadkeep.v1.ListMemoryNamespacesResponse listMemoryNamespaces(dev.threadkeep.v1.ListMemoryNamespacesRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListMemoryNamespacesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Deletes entries and their embeddings permanently. Deleted entries are no longer found. The response is a receipt.
     * Errors: INVALID_FIELD.
     * </pre>
     */
    public dev.threadkeep.v1.DeleteMemoriesResponse deleteMemories(dev.threadkeep.v1.DeleteMemoriesRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getDeleteMemoriesMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do limited synchronous rpc calls to service MemoryService.
   * <pre>
   * Adds, searches and deletes long-term memory. Every method returns MEMORY_NOT_CONFIGURED if memory is disabled, and
   * PERMISSION_DENIED for data beyond the credential's user.
   * </pre>
   */
  public static final class MemoryServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<MemoryServiceBlockingStub> {
    private MemoryServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected MemoryServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new MemoryServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * Ingests a session: adds one entry per event with text, or only for the specified events. Existing entries are
     * unchanged and deleted entries stay deleted, so the call can be repeated.
     * Errors: SESSION_NOT_FOUND, AMBIGUOUS_SESSION, EVENT_NOT_FOUND, INVALID_FIELD.
     * </pre>
     */
    public dev.threadkeep.v1.AddSessionToMemoryResponse addSessionToMemory(dev.threadkeep.v1.AddSessionToMemoryRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getAddSessionToMemoryMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Adds entries, all or none. An existing id with the same content is a replay; with different content it returns
     * MEMORY_ID_CONFLICT. A deleted id may be added again.
     * Errors: INVALID_FIELD, BATCH_TOO_LARGE, EVENT_TOO_LARGE.
     * </pre>
     */
    public dev.threadkeep.v1.AddMemoriesResponse addMemories(dev.threadkeep.v1.AddMemoriesRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getAddMemoriesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Writes entries, all or none. An entry with the same namespace and id is replaced: its text, embedding, metadata and
     * ttl, while record_time stays. A deleted id may be written again. A repeated request changes nothing but expire_time.
     * Errors: VERSION_MISMATCH (of an expected_etag), INVALID_FIELD, BATCH_TOO_LARGE, EVENT_TOO_LARGE.
     * </pre>
     */
    public dev.threadkeep.v1.UpsertMemoriesResponse upsertMemories(dev.threadkeep.v1.UpsertMemoriesRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getUpsertMemoriesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Returns entries by name, in request order.
     * Errors: INVALID_FIELD, PERMISSION_DENIED (refresh_ttl without the role WRITER).
     * </pre>
     */
    public dev.threadkeep.v1.GetMemoriesResponse getMemories(dev.threadkeep.v1.GetMemoriesRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetMemoriesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Returns the entries that match a query, best first (SUBSTRING: newest first). An empty query returns nothing.
     * Errors: INVALID_FIELD, EMBEDDER_NOT_CONFIGURED, EMBEDDER_FAILED, RATE_LIMITED (too many searches at a time),
     * PERMISSION_DENIED (refresh_ttl without the role WRITER).
     * </pre>
     */
    public dev.threadkeep.v1.SearchMemoryResponse searchMemory(dev.threadkeep.v1.SearchMemoryRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getSearchMemoryMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists entries, most recently added or replaced first. An entry that is replaced meanwhile may be listed twice or not.
     * Errors: INVALID_FIELD, INVALID_PAGE_TOKEN, PERMISSION_DENIED (refresh_ttl without the role WRITER).
     * </pre>
     */
    public dev.threadkeep.v1.ListMemoriesResponse listMemories(dev.threadkeep.v1.ListMemoriesRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListMemoriesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists the namespaces that have entries, in the order of their labels by code point.
     * Errors: INVALID_FIELD, INVALID_PAGE_TOKEN.
     * </pre>
     */
    public dev.threadkeep.v1.ListMemoryNamespacesResponse listMemoryNamespaces(dev.threadkeep.v1.ListMemoryNamespacesRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListMemoryNamespacesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Deletes entries and their embeddings permanently. Deleted entries are no longer found. The response is a receipt.
     * Errors: INVALID_FIELD.
     * </pre>
     */
    public dev.threadkeep.v1.DeleteMemoriesResponse deleteMemories(dev.threadkeep.v1.DeleteMemoriesRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getDeleteMemoriesMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service MemoryService.
   * <pre>
   * Adds, searches and deletes long-term memory. Every method returns MEMORY_NOT_CONFIGURED if memory is disabled, and
   * PERMISSION_DENIED for data beyond the credential's user.
   * </pre>
   */
  public static final class MemoryServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<MemoryServiceFutureStub> {
    private MemoryServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected MemoryServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new MemoryServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * Ingests a session: adds one entry per event with text, or only for the specified events. Existing entries are
     * unchanged and deleted entries stay deleted, so the call can be repeated.
     * Errors: SESSION_NOT_FOUND, AMBIGUOUS_SESSION, EVENT_NOT_FOUND, INVALID_FIELD.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.threadkeep.v1.AddSessionToMemoryResponse> addSessionToMemory(
        dev.threadkeep.v1.AddSessionToMemoryRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getAddSessionToMemoryMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Adds entries, all or none. An existing id with the same content is a replay; with different content it returns
     * MEMORY_ID_CONFLICT. A deleted id may be added again.
     * Errors: INVALID_FIELD, BATCH_TOO_LARGE, EVENT_TOO_LARGE.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.threadkeep.v1.AddMemoriesResponse> addMemories(
        dev.threadkeep.v1.AddMemoriesRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getAddMemoriesMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Writes entries, all or none. An entry with the same namespace and id is replaced: its text, embedding, metadata and
     * ttl, while record_time stays. A deleted id may be written again. A repeated request changes nothing but expire_time.
     * Errors: VERSION_MISMATCH (of an expected_etag), INVALID_FIELD, BATCH_TOO_LARGE, EVENT_TOO_LARGE.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.threadkeep.v1.UpsertMemoriesResponse> upsertMemories(
        dev.threadkeep.v1.UpsertMemoriesRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getUpsertMemoriesMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Returns entries by name, in request order.
     * Errors: INVALID_FIELD, PERMISSION_DENIED (refresh_ttl without the role WRITER).
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.threadkeep.v1.GetMemoriesResponse> getMemories(
        dev.threadkeep.v1.GetMemoriesRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetMemoriesMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Returns the entries that match a query, best first (SUBSTRING: newest first). An empty query returns nothing.
     * Errors: INVALID_FIELD, EMBEDDER_NOT_CONFIGURED, EMBEDDER_FAILED, RATE_LIMITED (too many searches at a time),
     * PERMISSION_DENIED (refresh_ttl without the role WRITER).
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.threadkeep.v1.SearchMemoryResponse> searchMemory(
        dev.threadkeep.v1.SearchMemoryRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getSearchMemoryMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Lists entries, most recently added or replaced first. An entry that is replaced meanwhile may be listed twice or not.
     * Errors: INVALID_FIELD, INVALID_PAGE_TOKEN, PERMISSION_DENIED (refresh_ttl without the role WRITER).
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.threadkeep.v1.ListMemoriesResponse> listMemories(
        dev.threadkeep.v1.ListMemoriesRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListMemoriesMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Lists the namespaces that have entries, in the order of their labels by code point.
     * Errors: INVALID_FIELD, INVALID_PAGE_TOKEN.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.threadkeep.v1.ListMemoryNamespacesResponse> listMemoryNamespaces(
        dev.threadkeep.v1.ListMemoryNamespacesRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListMemoryNamespacesMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Deletes entries and their embeddings permanently. Deleted entries are no longer found. The response is a receipt.
     * Errors: INVALID_FIELD.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.threadkeep.v1.DeleteMemoriesResponse> deleteMemories(
        dev.threadkeep.v1.DeleteMemoriesRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getDeleteMemoriesMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_ADD_SESSION_TO_MEMORY = 0;
  private static final int METHODID_ADD_MEMORIES = 1;
  private static final int METHODID_UPSERT_MEMORIES = 2;
  private static final int METHODID_GET_MEMORIES = 3;
  private static final int METHODID_SEARCH_MEMORY = 4;
  private static final int METHODID_LIST_MEMORIES = 5;
  private static final int METHODID_LIST_MEMORY_NAMESPACES = 6;
  private static final int METHODID_DELETE_MEMORIES = 7;

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
        case METHODID_ADD_SESSION_TO_MEMORY:
          serviceImpl.addSessionToMemory((dev.threadkeep.v1.AddSessionToMemoryRequest) request,
              (io.grpc.stub.StreamObserver<dev.threadkeep.v1.AddSessionToMemoryResponse>) responseObserver);
          break;
        case METHODID_ADD_MEMORIES:
          serviceImpl.addMemories((dev.threadkeep.v1.AddMemoriesRequest) request,
              (io.grpc.stub.StreamObserver<dev.threadkeep.v1.AddMemoriesResponse>) responseObserver);
          break;
        case METHODID_UPSERT_MEMORIES:
          serviceImpl.upsertMemories((dev.threadkeep.v1.UpsertMemoriesRequest) request,
              (io.grpc.stub.StreamObserver<dev.threadkeep.v1.UpsertMemoriesResponse>) responseObserver);
          break;
        case METHODID_GET_MEMORIES:
          serviceImpl.getMemories((dev.threadkeep.v1.GetMemoriesRequest) request,
              (io.grpc.stub.StreamObserver<dev.threadkeep.v1.GetMemoriesResponse>) responseObserver);
          break;
        case METHODID_SEARCH_MEMORY:
          serviceImpl.searchMemory((dev.threadkeep.v1.SearchMemoryRequest) request,
              (io.grpc.stub.StreamObserver<dev.threadkeep.v1.SearchMemoryResponse>) responseObserver);
          break;
        case METHODID_LIST_MEMORIES:
          serviceImpl.listMemories((dev.threadkeep.v1.ListMemoriesRequest) request,
              (io.grpc.stub.StreamObserver<dev.threadkeep.v1.ListMemoriesResponse>) responseObserver);
          break;
        case METHODID_LIST_MEMORY_NAMESPACES:
          serviceImpl.listMemoryNamespaces((dev.threadkeep.v1.ListMemoryNamespacesRequest) request,
              (io.grpc.stub.StreamObserver<dev.threadkeep.v1.ListMemoryNamespacesResponse>) responseObserver);
          break;
        case METHODID_DELETE_MEMORIES:
          serviceImpl.deleteMemories((dev.threadkeep.v1.DeleteMemoriesRequest) request,
              (io.grpc.stub.StreamObserver<dev.threadkeep.v1.DeleteMemoriesResponse>) responseObserver);
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
          getAddSessionToMemoryMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.threadkeep.v1.AddSessionToMemoryRequest,
              dev.threadkeep.v1.AddSessionToMemoryResponse>(
                service, METHODID_ADD_SESSION_TO_MEMORY)))
        .addMethod(
          getAddMemoriesMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.threadkeep.v1.AddMemoriesRequest,
              dev.threadkeep.v1.AddMemoriesResponse>(
                service, METHODID_ADD_MEMORIES)))
        .addMethod(
          getUpsertMemoriesMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.threadkeep.v1.UpsertMemoriesRequest,
              dev.threadkeep.v1.UpsertMemoriesResponse>(
                service, METHODID_UPSERT_MEMORIES)))
        .addMethod(
          getGetMemoriesMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.threadkeep.v1.GetMemoriesRequest,
              dev.threadkeep.v1.GetMemoriesResponse>(
                service, METHODID_GET_MEMORIES)))
        .addMethod(
          getSearchMemoryMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.threadkeep.v1.SearchMemoryRequest,
              dev.threadkeep.v1.SearchMemoryResponse>(
                service, METHODID_SEARCH_MEMORY)))
        .addMethod(
          getListMemoriesMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.threadkeep.v1.ListMemoriesRequest,
              dev.threadkeep.v1.ListMemoriesResponse>(
                service, METHODID_LIST_MEMORIES)))
        .addMethod(
          getListMemoryNamespacesMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.threadkeep.v1.ListMemoryNamespacesRequest,
              dev.threadkeep.v1.ListMemoryNamespacesResponse>(
                service, METHODID_LIST_MEMORY_NAMESPACES)))
        .addMethod(
          getDeleteMemoriesMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.threadkeep.v1.DeleteMemoriesRequest,
              dev.threadkeep.v1.DeleteMemoriesResponse>(
                service, METHODID_DELETE_MEMORIES)))
        .build();
  }

  private static abstract class MemoryServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    MemoryServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return dev.threadkeep.v1.MemoryServiceOuterClass.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("MemoryService");
    }
  }

  private static final class MemoryServiceFileDescriptorSupplier
      extends MemoryServiceBaseDescriptorSupplier {
    MemoryServiceFileDescriptorSupplier() {}
  }

  private static final class MemoryServiceMethodDescriptorSupplier
      extends MemoryServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    MemoryServiceMethodDescriptorSupplier(java.lang.String methodName) {
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
      synchronized (MemoryServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new MemoryServiceFileDescriptorSupplier())
              .addMethod(getAddSessionToMemoryMethod())
              .addMethod(getAddMemoriesMethod())
              .addMethod(getUpsertMemoriesMethod())
              .addMethod(getGetMemoriesMethod())
              .addMethod(getSearchMemoryMethod())
              .addMethod(getListMemoriesMethod())
              .addMethod(getListMemoryNamespacesMethod())
              .addMethod(getDeleteMemoriesMethod())
              .build();
        }
      }
    }
    return result;
  }
}
