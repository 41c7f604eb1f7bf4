package dev.threadkeep.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * Reads and changes the state of sessions, users and apps. AppendEventsRequest.state_delta changes it together with events.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class StateServiceGrpc {

  private StateServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "threadkeep.v1.StateService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<dev.threadkeep.v1.GetStateRequest,
      dev.threadkeep.v1.GetStateResponse> getGetStateMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetState",
      requestType = dev.threadkeep.v1.GetStateRequest.class,
      responseType = dev.threadkeep.v1.GetStateResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.threadkeep.v1.GetStateRequest,
      dev.threadkeep.v1.GetStateResponse> getGetStateMethod() {
    io.grpc.MethodDescriptor<dev.threadkeep.v1.GetStateRequest, dev.threadkeep.v1.GetStateResponse> getGetStateMethod;
    if ((getGetStateMethod = StateServiceGrpc.getGetStateMethod) == null) {
      synchronized (StateServiceGrpc.class) {
        if ((getGetStateMethod = StateServiceGrpc.getGetStateMethod) == null) {
          StateServiceGrpc.getGetStateMethod = getGetStateMethod =
              io.grpc.MethodDescriptor.<dev.threadkeep.v1.GetStateRequest, dev.threadkeep.v1.GetStateResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetState"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.GetStateRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.GetStateResponse.getDefaultInstance()))
              .setSchemaDescriptor(new StateServiceMethodDescriptorSupplier("GetState"))
              .build();
        }
      }
    }
    return getGetStateMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.threadkeep.v1.PatchStateRequest,
      dev.threadkeep.v1.PatchStateResponse> getPatchStateMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "PatchState",
      requestType = dev.threadkeep.v1.PatchStateRequest.class,
      responseType = dev.threadkeep.v1.PatchStateResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.threadkeep.v1.PatchStateRequest,
      dev.threadkeep.v1.PatchStateResponse> getPatchStateMethod() {
    io.grpc.MethodDescriptor<dev.threadkeep.v1.PatchStateRequest, dev.threadkeep.v1.PatchStateResponse> getPatchStateMethod;
    if ((getPatchStateMethod = StateServiceGrpc.getPatchStateMethod) == null) {
      synchronized (StateServiceGrpc.class) {
        if ((getPatchStateMethod = StateServiceGrpc.getPatchStateMethod) == null) {
          StateServiceGrpc.getPatchStateMethod = getPatchStateMethod =
              io.grpc.MethodDescriptor.<dev.threadkeep.v1.PatchStateRequest, dev.threadkeep.v1.PatchStateResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "PatchState"))
              .setIdempotent(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.PatchStateRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.PatchStateResponse.getDefaultInstance()))
              .setSchemaDescriptor(new StateServiceMethodDescriptorSupplier("PatchState"))
              .build();
        }
      }
    }
    return getPatchStateMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static StateServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<StateServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<StateServiceStub>() {
        @java.lang.Override
        public StateServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new StateServiceStub(channel, callOptions);
        }
      };
    return StateServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports all types of calls on the service
   */
  public static StateServiceBlockingV2Stub newBlockingV2Stub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<StateServiceBlockingV2Stub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<StateServiceBlockingV2Stub>() {
        @java.lang.Override
        public StateServiceBlockingV2Stub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new StateServiceBlockingV2Stub(channel, callOptions);
        }
      };
    return StateServiceBlockingV2Stub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static StateServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<StateServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<StateServiceBlockingStub>() {
        @java.lang.Override
        public StateServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new StateServiceBlockingStub(channel, callOptions);
        }
      };
    return StateServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static StateServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<StateServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<StateServiceFutureStub>() {
        @java.lang.Override
        public StateServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new StateServiceFutureStub(channel, callOptions);
        }
      };
    return StateServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * Reads and changes the state of sessions, users and apps. AppendEventsRequest.state_delta changes it together with events.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * Returns values of one scope, in the order of the UTF-8 bytes of their keys. A user or app without state has no values and
     * version 0.
     * Errors: SESSION_NOT_FOUND, AMBIGUOUS_SESSION, INVALID_FIELD, PERMISSION_DENIED.
     * </pre>
     */
    default void getState(dev.threadkeep.v1.GetStateRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.GetStateResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetStateMethod(), responseObserver);
    }

    /**
     * <pre>
     * Sets and removes values of one scope, all or none. A patch that changes nothing is no change: the version stays, and
     * subscriptions do not report it.
     * Errors: SESSION_NOT_FOUND, AMBIGUOUS_SESSION, VERSION_MISMATCH, STATE_TOO_LARGE, INVALID_FIELD, PERMISSION_DENIED,
     * STORE_UNAVAILABLE.
     * </pre>
     */
    default void patchState(dev.threadkeep.v1.PatchStateRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.PatchStateResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getPatchStateMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service StateService.
   * <pre>
   * Reads and changes the state of sessions, users and apps. AppendEventsRequest.state_delta changes it together with events.
   * </pre>
   */
  public static abstract class StateServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return StateServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service StateService.
   * <pre>
   * Reads and changes the state of sessions, users and apps. AppendEventsRequest.state_delta changes it together with events.
   * </pre>
   */
  public static final class StateServiceStub
      extends io.grpc.stub.AbstractAsyncStub<StateServiceStub> {
    private StateServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected StateServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new StateServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * Returns values of one scope, in the order of the UTF-8 bytes of their keys. A user or app without state has no values and
     * version 0.
     * Errors: SESSION_NOT_FOUND, AMBIGUOUS_SESSION, INVALID_FIELD, PERMISSION_DENIED.
     * </pre>
     */
    public void getState(dev.threadkeep.v1.GetStateRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.GetStateResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetStateMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Sets and removes values of one scope, all or none. A patch that changes nothing is no change: the version stays, and
     * subscriptions do not report it.
     * Errors: SESSION_NOT_FOUND, AMBIGUOUS_SESSION, VERSION_MISMATCH, STATE_TOO_LARGE, INVALID_FIELD, PERMISSION_DENIED,
     * STORE_UNAVAILABLE.
     * </pre>
     */
    public void patchState(dev.threadkeep.v1.PatchStateRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.PatchStateResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getPatchStateMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service StateService.
   * <pre>
   * Reads and changes the state of sessions, users and apps. AppendEventsRequest.state_delta changes it together with events.
   * </pre>
   */
  public static final class StateServiceBlockingV2Stub
      extends io.grpc.stub.AbstractBlockingStub<StateServiceBlockingV2Stub> {
    private StateServiceBlockingV2Stub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected StateServiceBlockingV2Stub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new StateServiceBlockingV2Stub(channel, callOptions);
    }

    /**
     * <pre>
     * Returns values of one scope, in the order of the UTF-8 bytes of their keys. A user or app without state has no values and
     * version 0.
     * Errors: SESSION_NOT_FOUND, AMBIGUOUS_SESSION, INVALID_FIELD, PERMISSION_DENIED.
     * </pre>
     */
    public dev.threadkeep.v1.GetStateResponse getState(dev.threadkeep.v1.GetStateRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetStateMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Sets and removes values of one scope, all or none. A patch that changes nothing is no change: the version stays, and
     * subscriptions do not report it.
     * Errors: SESSION_NOT_FOUND, AMBIGUOUS_SESSION, VERSION_MISMATCH, STATE_TOO_LARGE, INVALID_FIELD, PERMISSION_DENIED,
     * STORE_UNAVAILABLE.
     * </pre>
     */
    public dev.threadkeep.v1.PatchStateResponse patchState(dev.threadkeep.v1.PatchStateRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getPatchStateMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do limited synchronous rpc calls to service StateService.
   * <pre>
   * Reads and changes the state of sessions, users and apps. AppendEventsRequest.state_delta changes it together with events.
   * </pre>
   */
  public static final class StateServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<StateServiceBlockingStub> {
    private StateServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected StateServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new StateServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * Returns values of one scope, in the order of the UTF-8 bytes of their keys. A user or app without state has no values and
     * version 0.
     * Errors: SESSION_NOT_FOUND, AMBIGUOUS_SESSION, INVALID_FIELD, PERMISSION_DENIED.
     * </pre>
     */
    public dev.threadkeep.v1.GetStateResponse getState(dev.threadkeep.v1.GetStateRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetStateMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Sets and removes values of one scope, all or none. A patch that changes nothing is no change: the version stays, and
     * subscriptions do not report it.
     * Errors: SESSION_NOT_FOUND, AMBIGUOUS_SESSION, VERSION_MISMATCH, STATE_TOO_LARGE, INVALID_FIELD, PERMISSION_DENIED,
     * STORE_UNAVAILABLE.
     * </pre>
     */
    public dev.threadkeep.v1.PatchStateResponse patchState(dev.threadkeep.v1.PatchStateRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getPatchStateMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service StateService.
   * <pre>
   * Reads and changes the state of sessions, users and apps. AppendEventsRequest.state_delta changes it together with events.
   * </pre>
   */
  public static final class StateServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<StateServiceFutureStub> {
    private StateServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected StateServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new StateServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * Returns values of one scope, in the order of the UTF-8 bytes of their keys. A user or app without state has no values and
     * version 0.
     * Errors: SESSION_NOT_FOUND, AMBIGUOUS_SESSION, INVALID_FIELD, PERMISSION_DENIED.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.threadkeep.v1.GetStateResponse> getState(
        dev.threadkeep.v1.GetStateRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetStateMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Sets and removes values of one scope, all or none. A patch that changes nothing is no change: the version stays, and
     * subscriptions do not report it.
     * Errors: SESSION_NOT_FOUND, AMBIGUOUS_SESSION, VERSION_MISMATCH, STATE_TOO_LARGE, INVALID_FIELD, PERMISSION_DENIED,
     * STORE_UNAVAILABLE.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.threadkeep.v1.PatchStateResponse> patchState(
        dev.threadkeep.v1.PatchStateRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getPatchStateMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_GET_STATE = 0;
  private static final int METHODID_PATCH_STATE = 1;

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
        case METHODID_GET_STATE:
          serviceImpl.getState((dev.threadkeep.v1.GetStateRequest) request,
              (io.grpc.stub.StreamObserver<dev.threadkeep.v1.GetStateResponse>) responseObserver);
          break;
        case METHODID_PATCH_STATE:
          serviceImpl.patchState((dev.threadkeep.v1.PatchStateRequest) request,
              (io.grpc.stub.StreamObserver<dev.threadkeep.v1.PatchStateResponse>) responseObserver);
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
          getGetStateMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.threadkeep.v1.GetStateRequest,
              dev.threadkeep.v1.GetStateResponse>(
                service, METHODID_GET_STATE)))
        .addMethod(
          getPatchStateMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.threadkeep.v1.PatchStateRequest,
              dev.threadkeep.v1.PatchStateResponse>(
                service, METHODID_PATCH_STATE)))
        .build();
  }

  private static abstract class StateServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    StateServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return dev.threadkeep.v1.StateServiceOuterClass.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("StateService");
    }
  }

  private static final class StateServiceFileDescriptorSupplier
      extends StateServiceBaseDescriptorSupplier {
    StateServiceFileDescriptorSupplier() {}
  }

  private static final class StateServiceMethodDescriptorSupplier
      extends StateServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    StateServiceMethodDescriptorSupplier(java.lang.String methodName) {
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
      synchronized (StateServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new StateServiceFileDescriptorSupplier())
              .addMethod(getGetStateMethod())
              .addMethod(getPatchStateMethod())
              .build();
        }
      }
    }
    return result;
  }
}
