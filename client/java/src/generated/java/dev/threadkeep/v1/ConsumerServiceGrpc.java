package dev.threadkeep.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * Delivers changes to the members of named consumers. Every change is delivered at least once and never again after its
 * acknowledgment. Changes of one session are delivered in order, to one member at a time. A change that is not
 * acknowledged (its member died, rejected it, or exceeded the timeout) is delivered again, at most max_attempts times;
 * then it is parked and the partition continues.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class ConsumerServiceGrpc {

  private ConsumerServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "threadkeep.v1.ConsumerService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<dev.threadkeep.v1.ConsumeRequest,
      dev.threadkeep.v1.ConsumeResponse> getConsumeMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Consume",
      requestType = dev.threadkeep.v1.ConsumeRequest.class,
      responseType = dev.threadkeep.v1.ConsumeResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.BIDI_STREAMING)
  public static io.grpc.MethodDescriptor<dev.threadkeep.v1.ConsumeRequest,
      dev.threadkeep.v1.ConsumeResponse> getConsumeMethod() {
    io.grpc.MethodDescriptor<dev.threadkeep.v1.ConsumeRequest, dev.threadkeep.v1.ConsumeResponse> getConsumeMethod;
    if ((getConsumeMethod = ConsumerServiceGrpc.getConsumeMethod) == null) {
      synchronized (ConsumerServiceGrpc.class) {
        if ((getConsumeMethod = ConsumerServiceGrpc.getConsumeMethod) == null) {
          ConsumerServiceGrpc.getConsumeMethod = getConsumeMethod =
              io.grpc.MethodDescriptor.<dev.threadkeep.v1.ConsumeRequest, dev.threadkeep.v1.ConsumeResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.BIDI_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Consume"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.ConsumeRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.ConsumeResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ConsumerServiceMethodDescriptorSupplier("Consume"))
              .build();
        }
      }
    }
    return getConsumeMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.threadkeep.v1.ListConsumersRequest,
      dev.threadkeep.v1.ListConsumersResponse> getListConsumersMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListConsumers",
      requestType = dev.threadkeep.v1.ListConsumersRequest.class,
      responseType = dev.threadkeep.v1.ListConsumersResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.threadkeep.v1.ListConsumersRequest,
      dev.threadkeep.v1.ListConsumersResponse> getListConsumersMethod() {
    io.grpc.MethodDescriptor<dev.threadkeep.v1.ListConsumersRequest, dev.threadkeep.v1.ListConsumersResponse> getListConsumersMethod;
    if ((getListConsumersMethod = ConsumerServiceGrpc.getListConsumersMethod) == null) {
      synchronized (ConsumerServiceGrpc.class) {
        if ((getListConsumersMethod = ConsumerServiceGrpc.getListConsumersMethod) == null) {
          ConsumerServiceGrpc.getListConsumersMethod = getListConsumersMethod =
              io.grpc.MethodDescriptor.<dev.threadkeep.v1.ListConsumersRequest, dev.threadkeep.v1.ListConsumersResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListConsumers"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.ListConsumersRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.ListConsumersResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ConsumerServiceMethodDescriptorSupplier("ListConsumers"))
              .build();
        }
      }
    }
    return getListConsumersMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.threadkeep.v1.GetConsumerRequest,
      dev.threadkeep.v1.GetConsumerResponse> getGetConsumerMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetConsumer",
      requestType = dev.threadkeep.v1.GetConsumerRequest.class,
      responseType = dev.threadkeep.v1.GetConsumerResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.threadkeep.v1.GetConsumerRequest,
      dev.threadkeep.v1.GetConsumerResponse> getGetConsumerMethod() {
    io.grpc.MethodDescriptor<dev.threadkeep.v1.GetConsumerRequest, dev.threadkeep.v1.GetConsumerResponse> getGetConsumerMethod;
    if ((getGetConsumerMethod = ConsumerServiceGrpc.getGetConsumerMethod) == null) {
      synchronized (ConsumerServiceGrpc.class) {
        if ((getGetConsumerMethod = ConsumerServiceGrpc.getGetConsumerMethod) == null) {
          ConsumerServiceGrpc.getGetConsumerMethod = getGetConsumerMethod =
              io.grpc.MethodDescriptor.<dev.threadkeep.v1.GetConsumerRequest, dev.threadkeep.v1.GetConsumerResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetConsumer"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.GetConsumerRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.GetConsumerResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ConsumerServiceMethodDescriptorSupplier("GetConsumer"))
              .build();
        }
      }
    }
    return getGetConsumerMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.threadkeep.v1.DeleteConsumerRequest,
      dev.threadkeep.v1.DeleteConsumerResponse> getDeleteConsumerMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "DeleteConsumer",
      requestType = dev.threadkeep.v1.DeleteConsumerRequest.class,
      responseType = dev.threadkeep.v1.DeleteConsumerResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.threadkeep.v1.DeleteConsumerRequest,
      dev.threadkeep.v1.DeleteConsumerResponse> getDeleteConsumerMethod() {
    io.grpc.MethodDescriptor<dev.threadkeep.v1.DeleteConsumerRequest, dev.threadkeep.v1.DeleteConsumerResponse> getDeleteConsumerMethod;
    if ((getDeleteConsumerMethod = ConsumerServiceGrpc.getDeleteConsumerMethod) == null) {
      synchronized (ConsumerServiceGrpc.class) {
        if ((getDeleteConsumerMethod = ConsumerServiceGrpc.getDeleteConsumerMethod) == null) {
          ConsumerServiceGrpc.getDeleteConsumerMethod = getDeleteConsumerMethod =
              io.grpc.MethodDescriptor.<dev.threadkeep.v1.DeleteConsumerRequest, dev.threadkeep.v1.DeleteConsumerResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "DeleteConsumer"))
              .setIdempotent(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.DeleteConsumerRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.DeleteConsumerResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ConsumerServiceMethodDescriptorSupplier("DeleteConsumer"))
              .build();
        }
      }
    }
    return getDeleteConsumerMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.threadkeep.v1.ListParkedChangesRequest,
      dev.threadkeep.v1.ListParkedChangesResponse> getListParkedChangesMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListParkedChanges",
      requestType = dev.threadkeep.v1.ListParkedChangesRequest.class,
      responseType = dev.threadkeep.v1.ListParkedChangesResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.threadkeep.v1.ListParkedChangesRequest,
      dev.threadkeep.v1.ListParkedChangesResponse> getListParkedChangesMethod() {
    io.grpc.MethodDescriptor<dev.threadkeep.v1.ListParkedChangesRequest, dev.threadkeep.v1.ListParkedChangesResponse> getListParkedChangesMethod;
    if ((getListParkedChangesMethod = ConsumerServiceGrpc.getListParkedChangesMethod) == null) {
      synchronized (ConsumerServiceGrpc.class) {
        if ((getListParkedChangesMethod = ConsumerServiceGrpc.getListParkedChangesMethod) == null) {
          ConsumerServiceGrpc.getListParkedChangesMethod = getListParkedChangesMethod =
              io.grpc.MethodDescriptor.<dev.threadkeep.v1.ListParkedChangesRequest, dev.threadkeep.v1.ListParkedChangesResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListParkedChanges"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.ListParkedChangesRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.ListParkedChangesResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ConsumerServiceMethodDescriptorSupplier("ListParkedChanges"))
              .build();
        }
      }
    }
    return getListParkedChangesMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.threadkeep.v1.ReplayParkedChangesRequest,
      dev.threadkeep.v1.ReplayParkedChangesResponse> getReplayParkedChangesMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ReplayParkedChanges",
      requestType = dev.threadkeep.v1.ReplayParkedChangesRequest.class,
      responseType = dev.threadkeep.v1.ReplayParkedChangesResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.threadkeep.v1.ReplayParkedChangesRequest,
      dev.threadkeep.v1.ReplayParkedChangesResponse> getReplayParkedChangesMethod() {
    io.grpc.MethodDescriptor<dev.threadkeep.v1.ReplayParkedChangesRequest, dev.threadkeep.v1.ReplayParkedChangesResponse> getReplayParkedChangesMethod;
    if ((getReplayParkedChangesMethod = ConsumerServiceGrpc.getReplayParkedChangesMethod) == null) {
      synchronized (ConsumerServiceGrpc.class) {
        if ((getReplayParkedChangesMethod = ConsumerServiceGrpc.getReplayParkedChangesMethod) == null) {
          ConsumerServiceGrpc.getReplayParkedChangesMethod = getReplayParkedChangesMethod =
              io.grpc.MethodDescriptor.<dev.threadkeep.v1.ReplayParkedChangesRequest, dev.threadkeep.v1.ReplayParkedChangesResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ReplayParkedChanges"))
              .setIdempotent(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.ReplayParkedChangesRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.ReplayParkedChangesResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ConsumerServiceMethodDescriptorSupplier("ReplayParkedChanges"))
              .build();
        }
      }
    }
    return getReplayParkedChangesMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.threadkeep.v1.DeleteParkedChangesRequest,
      dev.threadkeep.v1.DeleteParkedChangesResponse> getDeleteParkedChangesMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "DeleteParkedChanges",
      requestType = dev.threadkeep.v1.DeleteParkedChangesRequest.class,
      responseType = dev.threadkeep.v1.DeleteParkedChangesResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.threadkeep.v1.DeleteParkedChangesRequest,
      dev.threadkeep.v1.DeleteParkedChangesResponse> getDeleteParkedChangesMethod() {
    io.grpc.MethodDescriptor<dev.threadkeep.v1.DeleteParkedChangesRequest, dev.threadkeep.v1.DeleteParkedChangesResponse> getDeleteParkedChangesMethod;
    if ((getDeleteParkedChangesMethod = ConsumerServiceGrpc.getDeleteParkedChangesMethod) == null) {
      synchronized (ConsumerServiceGrpc.class) {
        if ((getDeleteParkedChangesMethod = ConsumerServiceGrpc.getDeleteParkedChangesMethod) == null) {
          ConsumerServiceGrpc.getDeleteParkedChangesMethod = getDeleteParkedChangesMethod =
              io.grpc.MethodDescriptor.<dev.threadkeep.v1.DeleteParkedChangesRequest, dev.threadkeep.v1.DeleteParkedChangesResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "DeleteParkedChanges"))
              .setIdempotent(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.DeleteParkedChangesRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.DeleteParkedChangesResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ConsumerServiceMethodDescriptorSupplier("DeleteParkedChanges"))
              .build();
        }
      }
    }
    return getDeleteParkedChangesMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static ConsumerServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<ConsumerServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<ConsumerServiceStub>() {
        @java.lang.Override
        public ConsumerServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new ConsumerServiceStub(channel, callOptions);
        }
      };
    return ConsumerServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports all types of calls on the service
   */
  public static ConsumerServiceBlockingV2Stub newBlockingV2Stub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<ConsumerServiceBlockingV2Stub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<ConsumerServiceBlockingV2Stub>() {
        @java.lang.Override
        public ConsumerServiceBlockingV2Stub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new ConsumerServiceBlockingV2Stub(channel, callOptions);
        }
      };
    return ConsumerServiceBlockingV2Stub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static ConsumerServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<ConsumerServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<ConsumerServiceBlockingStub>() {
        @java.lang.Override
        public ConsumerServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new ConsumerServiceBlockingStub(channel, callOptions);
        }
      };
    return ConsumerServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static ConsumerServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<ConsumerServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<ConsumerServiceFutureStub>() {
        @java.lang.Override
        public ConsumerServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new ConsumerServiceFutureStub(channel, callOptions);
        }
      };
    return ConsumerServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * Delivers changes to the members of named consumers. Every change is delivered at least once and never again after its
   * acknowledgment. Changes of one session are delivered in order, to one member at a time. A change that is not
   * acknowledged (its member died, rejected it, or exceeded the timeout) is delivered again, at most max_attempts times;
   * then it is parked and the partition continues.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * Joins a consumer and receives its changes until the stream ends. The first member creates the consumer. The first
     * request must join, within 30 s; the following ones acknowledge or reject. When the client half-closes the stream,
     * the member leaves; acknowledgments sent before that take effect.
     * Errors: INVALID_FIELD, CONSUMER_MISMATCH, PERMISSION_DENIED, WATCH_TOO_SLOW for a member that does not acknowledge
     * in time, RESUME_POSITION_EXPIRED, QUOTA_EXCEEDED, SERVER_DRAINING, STORE_UNAVAILABLE.
     * </pre>
     */
    default io.grpc.stub.StreamObserver<dev.threadkeep.v1.ConsumeRequest> consume(
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.ConsumeResponse> responseObserver) {
      return io.grpc.stub.ServerCalls.asyncUnimplementedStreamingCall(getConsumeMethod(), responseObserver);
    }

    /**
     * <pre>
     * Lists consumers by name.
     * Errors: INVALID_FIELD, INVALID_PAGE_TOKEN.
     * </pre>
     */
    default void listConsumers(dev.threadkeep.v1.ListConsumersRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.ListConsumersResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListConsumersMethod(), responseObserver);
    }

    /**
     * <pre>
     * Returns a consumer, its members and the progress of each partition.
     * Errors: CONSUMER_NOT_FOUND.
     * </pre>
     */
    default void getConsumer(dev.threadkeep.v1.GetConsumerRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.GetConsumerResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetConsumerMethod(), responseObserver);
    }

    /**
     * <pre>
     * Deletes a consumer with its progress and its parked changes, and ends the streams of its members. Succeeds if the
     * consumer does not exist.
     * </pre>
     */
    default void deleteConsumer(dev.threadkeep.v1.DeleteConsumerRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.DeleteConsumerResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getDeleteConsumerMethod(), responseObserver);
    }

    /**
     * <pre>
     * Lists parked changes, oldest first.
     * Errors: CONSUMER_NOT_FOUND, INVALID_PAGE_TOKEN.
     * </pre>
     */
    default void listParkedChanges(dev.threadkeep.v1.ListParkedChangesRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.ListParkedChangesResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListParkedChangesMethod(), responseObserver);
    }

    /**
     * <pre>
     * Delivers parked changes again, outside the order of their sessions. A change that fails again is parked again.
     * Errors: CONSUMER_NOT_FOUND.
     * </pre>
     */
    default void replayParkedChanges(dev.threadkeep.v1.ReplayParkedChangesRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.ReplayParkedChangesResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getReplayParkedChangesMethod(), responseObserver);
    }

    /**
     * <pre>
     * Deletes parked changes.
     * Errors: CONSUMER_NOT_FOUND.
     * </pre>
     */
    default void deleteParkedChanges(dev.threadkeep.v1.DeleteParkedChangesRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.DeleteParkedChangesResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getDeleteParkedChangesMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service ConsumerService.
   * <pre>
   * Delivers changes to the members of named consumers. Every change is delivered at least once and never again after its
   * acknowledgment. Changes of one session are delivered in order, to one member at a time. A change that is not
   * acknowledged (its member died, rejected it, or exceeded the timeout) is delivered again, at most max_attempts times;
   * then it is parked and the partition continues.
   * </pre>
   */
  public static abstract class ConsumerServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return ConsumerServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service ConsumerService.
   * <pre>
   * Delivers changes to the members of named consumers. Every change is delivered at least once and never again after its
   * acknowledgment. Changes of one session are delivered in order, to one member at a time. A change that is not
   * acknowledged (its member died, rejected it, or exceeded the timeout) is delivered again, at most max_attempts times;
   * then it is parked and the partition continues.
   * </pre>
   */
  public static final class ConsumerServiceStub
      extends io.grpc.stub.AbstractAsyncStub<ConsumerServiceStub> {
    private ConsumerServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected ConsumerServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new ConsumerServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * Joins a consumer and receives its changes until the stream ends. The first member creates the consumer. The first
     * request must join, within 30 s; the following ones acknowledge or reject. When the client half-closes the stream,
     * the member leaves; acknowledgments sent before that take effect.
     * Errors: INVALID_FIELD, CONSUMER_MISMATCH, PERMISSION_DENIED, WATCH_TOO_SLOW for a member that does not acknowledge
     * in time, RESUME_POSITION_EXPIRED, QUOTA_EXCEEDED, SERVER_DRAINING, STORE_UNAVAILABLE.
     * </pre>
     */
    public io.grpc.stub.StreamObserver<dev.threadkeep.v1.ConsumeRequest> consume(
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.ConsumeResponse> responseObserver) {
      return io.grpc.stub.ClientCalls.asyncBidiStreamingCall(
          getChannel().newCall(getConsumeMethod(), getCallOptions()), responseObserver);
    }

    /**
     * <pre>
     * Lists consumers by name.
     * Errors: INVALID_FIELD, INVALID_PAGE_TOKEN.
     * </pre>
     */
    public void listConsumers(dev.threadkeep.v1.ListConsumersRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.ListConsumersResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListConsumersMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Returns a consumer, its members and the progress of each partition.
     * Errors: CONSUMER_NOT_FOUND.
     * </pre>
     */
    public void getConsumer(dev.threadkeep.v1.GetConsumerRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.GetConsumerResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetConsumerMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Deletes a consumer with its progress and its parked changes, and ends the streams of its members. Succeeds if the
     * consumer does not exist.
     * </pre>
     */
    public void deleteConsumer(dev.threadkeep.v1.DeleteConsumerRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.DeleteConsumerResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getDeleteConsumerMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Lists parked changes, oldest first.
     * Errors: CONSUMER_NOT_FOUND, INVALID_PAGE_TOKEN.
     * </pre>
     */
    public void listParkedChanges(dev.threadkeep.v1.ListParkedChangesRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.ListParkedChangesResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListParkedChangesMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Delivers parked changes again, outside the order of their sessions. A change that fails again is parked again.
     * Errors: CONSUMER_NOT_FOUND.
     * </pre>
     */
    public void replayParkedChanges(dev.threadkeep.v1.ReplayParkedChangesRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.ReplayParkedChangesResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getReplayParkedChangesMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Deletes parked changes.
     * Errors: CONSUMER_NOT_FOUND.
     * </pre>
     */
    public void deleteParkedChanges(dev.threadkeep.v1.DeleteParkedChangesRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.DeleteParkedChangesResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getDeleteParkedChangesMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service ConsumerService.
   * <pre>
   * Delivers changes to the members of named consumers. Every change is delivered at least once and never again after its
   * acknowledgment. Changes of one session are delivered in order, to one member at a time. A change that is not
   * acknowledged (its member died, rejected it, or exceeded the timeout) is delivered again, at most max_attempts times;
   * then it is parked and the partition continues.
   * </pre>
   */
  public static final class ConsumerServiceBlockingV2Stub
      extends io.grpc.stub.AbstractBlockingStub<ConsumerServiceBlockingV2Stub> {
    private ConsumerServiceBlockingV2Stub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected ConsumerServiceBlockingV2Stub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new ConsumerServiceBlockingV2Stub(channel, callOptions);
    }

    /**
     * <pre>
     * Joins a consumer and receives its changes until the stream ends. The first member creates the consumer. The first
     * request must join, within 30 s; the following ones acknowledge or reject. When the client half-closes the stream,
     * the member leaves; acknowledgments sent before that take effect.
     * Errors: INVALID_FIELD, CONSUMER_MISMATCH, PERMISSION_DENIED, WATCH_TOO_SLOW for a member that does not acknowledge
     * in time, RESUME_POSITION_EXPIRED, QUOTA_EXCEEDED, SERVER_DRAINING, STORE_UNAVAILABLE.
     * </pre>
     */
    @io.grpc.ExperimentalApi("https://github.com/grpc/grpc-java/issues/10918")
    public io.grpc.stub.BlockingClientCall<dev.threadkeep.v1.ConsumeRequest, dev.threadkeep.v1.ConsumeResponse>
        consume() {
      return io.grpc.stub.ClientCalls.blockingBidiStreamingCall(
          getChannel(), getConsumeMethod(), getCallOptions());
    }

    /**
     * <pre>
     * Lists consumers by name.
     * Errors: INVALID_FIELD, INVALID_PAGE_TOKEN.
     * </pre>
     */
    public dev.threadkeep.v1.ListConsumersResponse listConsumers(dev.threadkeep.v1.ListConsumersRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListConsumersMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Returns a consumer, its members and the progress of each partition.
     * Errors: CONSUMER_NOT_FOUND.
     * </pre>
     */
    public dev.threadkeep.v1.GetConsumerResponse getConsumer(dev.threadkeep.v1.GetConsumerRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetConsumerMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Deletes a consumer with its progress and its parked changes, and ends the streams of its members. Succeeds if the
     * consumer does not exist.
     * </pre>
     */
    public dev.threadkeep.v1.DeleteConsumerResponse deleteConsumer(dev.threadkeep.v1.DeleteConsumerRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getDeleteConsumerMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists parked changes, oldest first.
     * Errors: CONSUMER_NOT_FOUND, INVALID_PAGE_TOKEN.
     * </pre>
     */
    public dev.threadkeep.v1.ListParkedChangesResponse listParkedChanges(dev.threadkeep.v1.ListParkedChangesRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListParkedChangesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Delivers parked changes again, outside the order of their sessions. A change that fails again is parked again.
     * Errors: CONSUMER_NOT_FOUND.
     * </pre>
     */
    public dev.threadkeep.v1.ReplayParkedChangesResponse replayParkedChanges(dev.threadkeep.v1.ReplayParkedChangesRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getReplayParkedChangesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Deletes parked changes.
     * Errors: CONSUMER_NOT_FOUND.
     * </pre>
     */
    public dev.threadkeep.v1.DeleteParkedChangesResponse deleteParkedChanges(dev.threadkeep.v1.DeleteParkedChangesRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getDeleteParkedChangesMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do limited synchronous rpc calls to service ConsumerService.
   * <pre>
   * Delivers changes to the members of named consumers. Every change is delivered at least once and never again after its
   * acknowledgment. Changes of one session are delivered in order, to one member at a time. A change that is not
   * acknowledged (its member died, rejected it, or exceeded the timeout) is delivered again, at most max_attempts times;
   * then it is parked and the partition continues.
   * </pre>
   */
  public static final class ConsumerServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<ConsumerServiceBlockingStub> {
    private ConsumerServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected ConsumerServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new ConsumerServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * Lists consumers by name.
     * Errors: INVALID_FIELD, INVALID_PAGE_TOKEN.
     * </pre>
     */
    public dev.threadkeep.v1.ListConsumersResponse listConsumers(dev.threadkeep.v1.ListConsumersRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListConsumersMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Returns a consumer, its members and the progress of each partition.
     * Errors: CONSUMER_NOT_FOUND.
     * </pre>
     */
    public dev.threadkeep.v1.GetConsumerResponse getConsumer(dev.threadkeep.v1.GetConsumerRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetConsumerMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Deletes a consumer with its progress and its parked changes, and ends the streams of its members. Succeeds if the
     * consumer does not exist.
     * </pre>
     */
    public dev.threadkeep.v1.DeleteConsumerResponse deleteConsumer(dev.threadkeep.v1.DeleteConsumerRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getDeleteConsumerMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists parked changes, oldest first.
     * Errors: CONSUMER_NOT_FOUND, INVALID_PAGE_TOKEN.
     * </pre>
     */
    public dev.threadkeep.v1.ListParkedChangesResponse listParkedChanges(dev.threadkeep.v1.ListParkedChangesRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListParkedChangesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Delivers parked changes again, outside the order of their sessions. A change that fails again is parked again.
     * Errors: CONSUMER_NOT_FOUND.
     * </pre>
     */
    public dev.threadkeep.v1.ReplayParkedChangesResponse replayParkedChanges(dev.threadkeep.v1.ReplayParkedChangesRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getReplayParkedChangesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Deletes parked changes.
     * Errors: CONSUMER_NOT_FOUND.
     * </pre>
     */
    public dev.threadkeep.v1.DeleteParkedChangesResponse deleteParkedChanges(dev.threadkeep.v1.DeleteParkedChangesRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getDeleteParkedChangesMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service ConsumerService.
   * <pre>
   * Delivers changes to the members of named consumers. Every change is delivered at least once and never again after its
   * acknowledgment. Changes of one session are delivered in order, to one member at a time. A change that is not
   * acknowledged (its member died, rejected it, or exceeded the timeout) is delivered again, at most max_attempts times;
   * then it is parked and the partition continues.
   * </pre>
   */
  public static final class ConsumerServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<ConsumerServiceFutureStub> {
    private ConsumerServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected ConsumerServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new ConsumerServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * Lists consumers by name.
     * Errors: INVALID_FIELD, INVALID_PAGE_TOKEN.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.threadkeep.v1.ListConsumersResponse> listConsumers(
        dev.threadkeep.v1.ListConsumersRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListConsumersMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Returns a consumer, its members and the progress of each partition.
     * Errors: CONSUMER_NOT_FOUND.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.threadkeep.v1.GetConsumerResponse> getConsumer(
        dev.threadkeep.v1.GetConsumerRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetConsumerMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Deletes a consumer with its progress and its parked changes, and ends the streams of its members. Succeeds if the
     * consumer does not exist.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.threadkeep.v1.DeleteConsumerResponse> deleteConsumer(
        dev.threadkeep.v1.DeleteConsumerRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getDeleteConsumerMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Lists parked changes, oldest first.
     * Errors: CONSUMER_NOT_FOUND, INVALID_PAGE_TOKEN.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.threadkeep.v1.ListParkedChangesResponse> listParkedChanges(
        dev.threadkeep.v1.ListParkedChangesRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListParkedChangesMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Delivers parked changes again, outside the order of their sessions. A change that fails again is parked again.
     * Errors: CONSUMER_NOT_FOUND.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.threadkeep.v1.ReplayParkedChangesResponse> replayParkedChanges(
        dev.threadkeep.v1.ReplayParkedChangesRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getReplayParkedChangesMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Deletes parked changes.
     * Errors: CONSUMER_NOT_FOUND.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.threadkeep.v1.DeleteParkedChangesResponse> deleteParkedChanges(
        dev.threadkeep.v1.DeleteParkedChangesRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getDeleteParkedChangesMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_LIST_CONSUMERS = 0;
  private static final int METHODID_GET_CONSUMER = 1;
  private static final int METHODID_DELETE_CONSUMER = 2;
  private static final int METHODID_LIST_PARKED_CHANGES = 3;
  private static final int METHODID_REPLAY_PARKED_CHANGES = 4;
  private static final int METHODID_DELETE_PARKED_CHANGES = 5;
  private static final int METHODID_CONSUME = 6;

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
        case METHODID_LIST_CONSUMERS:
          serviceImpl.listConsumers((dev.threadkeep.v1.ListConsumersRequest) request,
              (io.grpc.stub.StreamObserver<dev.threadkeep.v1.ListConsumersResponse>) responseObserver);
          break;
        case METHODID_GET_CONSUMER:
          serviceImpl.getConsumer((dev.threadkeep.v1.GetConsumerRequest) request,
              (io.grpc.stub.StreamObserver<dev.threadkeep.v1.GetConsumerResponse>) responseObserver);
          break;
        case METHODID_DELETE_CONSUMER:
          serviceImpl.deleteConsumer((dev.threadkeep.v1.DeleteConsumerRequest) request,
              (io.grpc.stub.StreamObserver<dev.threadkeep.v1.DeleteConsumerResponse>) responseObserver);
          break;
        case METHODID_LIST_PARKED_CHANGES:
          serviceImpl.listParkedChanges((dev.threadkeep.v1.ListParkedChangesRequest) request,
              (io.grpc.stub.StreamObserver<dev.threadkeep.v1.ListParkedChangesResponse>) responseObserver);
          break;
        case METHODID_REPLAY_PARKED_CHANGES:
          serviceImpl.replayParkedChanges((dev.threadkeep.v1.ReplayParkedChangesRequest) request,
              (io.grpc.stub.StreamObserver<dev.threadkeep.v1.ReplayParkedChangesResponse>) responseObserver);
          break;
        case METHODID_DELETE_PARKED_CHANGES:
          serviceImpl.deleteParkedChanges((dev.threadkeep.v1.DeleteParkedChangesRequest) request,
              (io.grpc.stub.StreamObserver<dev.threadkeep.v1.DeleteParkedChangesResponse>) responseObserver);
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
        case METHODID_CONSUME:
          return (io.grpc.stub.StreamObserver<Req>) serviceImpl.consume(
              (io.grpc.stub.StreamObserver<dev.threadkeep.v1.ConsumeResponse>) responseObserver);
        default:
          throw new AssertionError();
      }
    }
  }

  public static final io.grpc.ServerServiceDefinition bindService(AsyncService service) {
    return io.grpc.ServerServiceDefinition.builder(getServiceDescriptor())
        .addMethod(
          getConsumeMethod(),
          io.grpc.stub.ServerCalls.asyncBidiStreamingCall(
            new MethodHandlers<
              dev.threadkeep.v1.ConsumeRequest,
              dev.threadkeep.v1.ConsumeResponse>(
                service, METHODID_CONSUME)))
        .addMethod(
          getListConsumersMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.threadkeep.v1.ListConsumersRequest,
              dev.threadkeep.v1.ListConsumersResponse>(
                service, METHODID_LIST_CONSUMERS)))
        .addMethod(
          getGetConsumerMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.threadkeep.v1.GetConsumerRequest,
              dev.threadkeep.v1.GetConsumerResponse>(
                service, METHODID_GET_CONSUMER)))
        .addMethod(
          getDeleteConsumerMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.threadkeep.v1.DeleteConsumerRequest,
              dev.threadkeep.v1.DeleteConsumerResponse>(
                service, METHODID_DELETE_CONSUMER)))
        .addMethod(
          getListParkedChangesMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.threadkeep.v1.ListParkedChangesRequest,
              dev.threadkeep.v1.ListParkedChangesResponse>(
                service, METHODID_LIST_PARKED_CHANGES)))
        .addMethod(
          getReplayParkedChangesMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.threadkeep.v1.ReplayParkedChangesRequest,
              dev.threadkeep.v1.ReplayParkedChangesResponse>(
                service, METHODID_REPLAY_PARKED_CHANGES)))
        .addMethod(
          getDeleteParkedChangesMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.threadkeep.v1.DeleteParkedChangesRequest,
              dev.threadkeep.v1.DeleteParkedChangesResponse>(
                service, METHODID_DELETE_PARKED_CHANGES)))
        .build();
  }

  private static abstract class ConsumerServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    ConsumerServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return dev.threadkeep.v1.ConsumerServiceOuterClass.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("ConsumerService");
    }
  }

  private static final class ConsumerServiceFileDescriptorSupplier
      extends ConsumerServiceBaseDescriptorSupplier {
    ConsumerServiceFileDescriptorSupplier() {}
  }

  private static final class ConsumerServiceMethodDescriptorSupplier
      extends ConsumerServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    ConsumerServiceMethodDescriptorSupplier(java.lang.String methodName) {
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
      synchronized (ConsumerServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new ConsumerServiceFileDescriptorSupplier())
              .addMethod(getConsumeMethod())
              .addMethod(getListConsumersMethod())
              .addMethod(getGetConsumerMethod())
              .addMethod(getDeleteConsumerMethod())
              .addMethod(getListParkedChangesMethod())
              .addMethod(getReplayParkedChangesMethod())
              .addMethod(getDeleteParkedChangesMethod())
              .build();
        }
      }
    }
    return result;
  }
}
