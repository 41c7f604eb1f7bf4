package dev.threadkeep.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * Describes the server, and has the calls of its operators.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class ServerServiceGrpc {

  private ServerServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "threadkeep.v1.ServerService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<dev.threadkeep.v1.GetServerInfoRequest,
      dev.threadkeep.v1.GetServerInfoResponse> getGetServerInfoMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetServerInfo",
      requestType = dev.threadkeep.v1.GetServerInfoRequest.class,
      responseType = dev.threadkeep.v1.GetServerInfoResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.threadkeep.v1.GetServerInfoRequest,
      dev.threadkeep.v1.GetServerInfoResponse> getGetServerInfoMethod() {
    io.grpc.MethodDescriptor<dev.threadkeep.v1.GetServerInfoRequest, dev.threadkeep.v1.GetServerInfoResponse> getGetServerInfoMethod;
    if ((getGetServerInfoMethod = ServerServiceGrpc.getGetServerInfoMethod) == null) {
      synchronized (ServerServiceGrpc.class) {
        if ((getGetServerInfoMethod = ServerServiceGrpc.getGetServerInfoMethod) == null) {
          ServerServiceGrpc.getGetServerInfoMethod = getGetServerInfoMethod =
              io.grpc.MethodDescriptor.<dev.threadkeep.v1.GetServerInfoRequest, dev.threadkeep.v1.GetServerInfoResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetServerInfo"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.GetServerInfoRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.GetServerInfoResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ServerServiceMethodDescriptorSupplier("GetServerInfo"))
              .build();
        }
      }
    }
    return getGetServerInfoMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.threadkeep.v1.ListAuditRecordsRequest,
      dev.threadkeep.v1.ListAuditRecordsResponse> getListAuditRecordsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListAuditRecords",
      requestType = dev.threadkeep.v1.ListAuditRecordsRequest.class,
      responseType = dev.threadkeep.v1.ListAuditRecordsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.threadkeep.v1.ListAuditRecordsRequest,
      dev.threadkeep.v1.ListAuditRecordsResponse> getListAuditRecordsMethod() {
    io.grpc.MethodDescriptor<dev.threadkeep.v1.ListAuditRecordsRequest, dev.threadkeep.v1.ListAuditRecordsResponse> getListAuditRecordsMethod;
    if ((getListAuditRecordsMethod = ServerServiceGrpc.getListAuditRecordsMethod) == null) {
      synchronized (ServerServiceGrpc.class) {
        if ((getListAuditRecordsMethod = ServerServiceGrpc.getListAuditRecordsMethod) == null) {
          ServerServiceGrpc.getListAuditRecordsMethod = getListAuditRecordsMethod =
              io.grpc.MethodDescriptor.<dev.threadkeep.v1.ListAuditRecordsRequest, dev.threadkeep.v1.ListAuditRecordsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListAuditRecords"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.ListAuditRecordsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.ListAuditRecordsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ServerServiceMethodDescriptorSupplier("ListAuditRecords"))
              .build();
        }
      }
    }
    return getListAuditRecordsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.threadkeep.v1.RunRetentionRequest,
      dev.threadkeep.v1.RunRetentionResponse> getRunRetentionMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "RunRetention",
      requestType = dev.threadkeep.v1.RunRetentionRequest.class,
      responseType = dev.threadkeep.v1.RunRetentionResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.threadkeep.v1.RunRetentionRequest,
      dev.threadkeep.v1.RunRetentionResponse> getRunRetentionMethod() {
    io.grpc.MethodDescriptor<dev.threadkeep.v1.RunRetentionRequest, dev.threadkeep.v1.RunRetentionResponse> getRunRetentionMethod;
    if ((getRunRetentionMethod = ServerServiceGrpc.getRunRetentionMethod) == null) {
      synchronized (ServerServiceGrpc.class) {
        if ((getRunRetentionMethod = ServerServiceGrpc.getRunRetentionMethod) == null) {
          ServerServiceGrpc.getRunRetentionMethod = getRunRetentionMethod =
              io.grpc.MethodDescriptor.<dev.threadkeep.v1.RunRetentionRequest, dev.threadkeep.v1.RunRetentionResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "RunRetention"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.RunRetentionRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.RunRetentionResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ServerServiceMethodDescriptorSupplier("RunRetention"))
              .build();
        }
      }
    }
    return getRunRetentionMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.threadkeep.v1.ListRetentionReceiptsRequest,
      dev.threadkeep.v1.ListRetentionReceiptsResponse> getListRetentionReceiptsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListRetentionReceipts",
      requestType = dev.threadkeep.v1.ListRetentionReceiptsRequest.class,
      responseType = dev.threadkeep.v1.ListRetentionReceiptsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.threadkeep.v1.ListRetentionReceiptsRequest,
      dev.threadkeep.v1.ListRetentionReceiptsResponse> getListRetentionReceiptsMethod() {
    io.grpc.MethodDescriptor<dev.threadkeep.v1.ListRetentionReceiptsRequest, dev.threadkeep.v1.ListRetentionReceiptsResponse> getListRetentionReceiptsMethod;
    if ((getListRetentionReceiptsMethod = ServerServiceGrpc.getListRetentionReceiptsMethod) == null) {
      synchronized (ServerServiceGrpc.class) {
        if ((getListRetentionReceiptsMethod = ServerServiceGrpc.getListRetentionReceiptsMethod) == null) {
          ServerServiceGrpc.getListRetentionReceiptsMethod = getListRetentionReceiptsMethod =
              io.grpc.MethodDescriptor.<dev.threadkeep.v1.ListRetentionReceiptsRequest, dev.threadkeep.v1.ListRetentionReceiptsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListRetentionReceipts"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.ListRetentionReceiptsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.ListRetentionReceiptsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ServerServiceMethodDescriptorSupplier("ListRetentionReceipts"))
              .build();
        }
      }
    }
    return getListRetentionReceiptsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.threadkeep.v1.RestoreSessionRequest,
      dev.threadkeep.v1.RestoreSessionResponse> getRestoreSessionMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "RestoreSession",
      requestType = dev.threadkeep.v1.RestoreSessionRequest.class,
      responseType = dev.threadkeep.v1.RestoreSessionResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.threadkeep.v1.RestoreSessionRequest,
      dev.threadkeep.v1.RestoreSessionResponse> getRestoreSessionMethod() {
    io.grpc.MethodDescriptor<dev.threadkeep.v1.RestoreSessionRequest, dev.threadkeep.v1.RestoreSessionResponse> getRestoreSessionMethod;
    if ((getRestoreSessionMethod = ServerServiceGrpc.getRestoreSessionMethod) == null) {
      synchronized (ServerServiceGrpc.class) {
        if ((getRestoreSessionMethod = ServerServiceGrpc.getRestoreSessionMethod) == null) {
          ServerServiceGrpc.getRestoreSessionMethod = getRestoreSessionMethod =
              io.grpc.MethodDescriptor.<dev.threadkeep.v1.RestoreSessionRequest, dev.threadkeep.v1.RestoreSessionResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "RestoreSession"))
              .setIdempotent(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.RestoreSessionRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.RestoreSessionResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ServerServiceMethodDescriptorSupplier("RestoreSession"))
              .build();
        }
      }
    }
    return getRestoreSessionMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static ServerServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<ServerServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<ServerServiceStub>() {
        @java.lang.Override
        public ServerServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new ServerServiceStub(channel, callOptions);
        }
      };
    return ServerServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports all types of calls on the service
   */
  public static ServerServiceBlockingV2Stub newBlockingV2Stub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<ServerServiceBlockingV2Stub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<ServerServiceBlockingV2Stub>() {
        @java.lang.Override
        public ServerServiceBlockingV2Stub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new ServerServiceBlockingV2Stub(channel, callOptions);
        }
      };
    return ServerServiceBlockingV2Stub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static ServerServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<ServerServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<ServerServiceBlockingStub>() {
        @java.lang.Override
        public ServerServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new ServerServiceBlockingStub(channel, callOptions);
        }
      };
    return ServerServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static ServerServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<ServerServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<ServerServiceFutureStub>() {
        @java.lang.Override
        public ServerServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new ServerServiceFutureStub(channel, callOptions);
        }
      };
    return ServerServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * Describes the server, and has the calls of its operators.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * Returns version, engine, durability, limits, capabilities and totals.
     * </pre>
     */
    default void getServerInfo(dev.threadkeep.v1.GetServerInfoRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.GetServerInfoResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetServerInfoMethod(), responseObserver);
    }

    /**
     * <pre>
     * Returns records of the audit log of the server that answers, newest first: of calls of the caller's tenant, and of a caller
     * that is bound to a user or an app, of credentials with the same binding. Each server has a log of its own, which reaches back
     * to the last rotation of its file. Records of calls without a known caller belong to no tenant and are not returned.
     * Errors: AUDIT_LOG_UNAVAILABLE (the setting audit_log names no file, or it cannot be read), INVALID_FIELD, INVALID_PAGE_TOKEN
     * (also after the file was rotated), RATE_LIMITED (too many reads of the log at a time).
     * </pre>
     */
    default void listAuditRecords(dev.threadkeep.v1.ListAuditRecordsRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.ListAuditRecordsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListAuditRecordsMethod(), responseObserver);
    }

    /**
     * <pre>
     * Runs the server's retention policies over the sessions of the caller's tenant, of a caller that is bound to a user or an app
     * over theirs: archives and deletes up to max_sessions. A dry run changes nothing and reports what a run would take. A session
     * is deleted only if it is what was archived. The server runs the policies by itself, too.
     * Repeat the call, with the token of the response, while it has one. Such a call takes further sessions, and its response has
     * those only; its cost does not grow with the sessions that are selected. The call is not repeated automatically.
     * Errors: RETENTION_NOT_CONFIGURED, ARCHIVE_FAILED, INVALID_FIELD.
     * </pre>
     */
    default void runRetention(dev.threadkeep.v1.RunRetentionRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.RunRetentionResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getRunRetentionMethod(), responseObserver);
    }

    /**
     * <pre>
     * Returns receipts of sessions of the caller's tenant that retention deleted, newest first; to a caller that is bound to a
     * user or an app those of its sessions.
     * Errors: RETENTION_NOT_CONFIGURED, ARCHIVE_FAILED, INVALID_FIELD, INVALID_PAGE_TOKEN, PERMISSION_DENIED.
     * </pre>
     */
    default void listRetentionReceipts(dev.threadkeep.v1.ListRetentionReceiptsRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.ListRetentionReceiptsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListRetentionReceiptsMethod(), responseObserver);
    }

    /**
     * <pre>
     * Stores an archived session again: its events with their ids, seqs and bytes, its window, labels, metadata and state. It gets
     * another uid, and its events other record times. The archive stays. An archive that is not what was written is refused, and so
     * is one of a session whose name has other events now. A repeated call changes nothing, and continues one that was interrupted.
     * Policies do not select the session by its age for a week.
     * Errors: RETENTION_NOT_CONFIGURED, ARCHIVE_FAILED, SESSION_NOT_FOUND (there is no archive of it), INVALID_FIELD,
     * PERMISSION_DENIED.
     * </pre>
     */
    default void restoreSession(dev.threadkeep.v1.RestoreSessionRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.RestoreSessionResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getRestoreSessionMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service ServerService.
   * <pre>
   * Describes the server, and has the calls of its operators.
   * </pre>
   */
  public static abstract class ServerServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return ServerServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service ServerService.
   * <pre>
   * Describes the server, and has the calls of its operators.
   * </pre>
   */
  public static final class ServerServiceStub
      extends io.grpc.stub.AbstractAsyncStub<ServerServiceStub> {
    private ServerServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected ServerServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new ServerServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * Returns version, engine, durability, limits, capabilities and totals.
     * </pre>
     */
    public void getServerInfo(dev.threadkeep.v1.GetServerInfoRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.GetServerInfoResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetServerInfoMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Returns records of the audit log of the server that answers, newest first: of calls of the caller's tenant, and of a caller
     * that is bound to a user or an app, of credentials with the same binding. Each server has a log of its own, which reaches back
     * to the last rotation of its file. Records of calls without a known caller belong to no tenant and are not returned.
     * Errors: AUDIT_LOG_UNAVAILABLE (the setting audit_log names no file, or it cannot be read), INVALID_FIELD, INVALID_PAGE_TOKEN
     * (also after the file was rotated), RATE_LIMITED (too many reads of the log at a time).
     * </pre>
     */
    public void listAuditRecords(dev.threadkeep.v1.ListAuditRecordsRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.ListAuditRecordsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListAuditRecordsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Runs the server's retention policies over the sessions of the caller's tenant, of a caller that is bound to a user or an app
     * over theirs: archives and deletes up to max_sessions. A dry run changes nothing and reports what a run would take. A session
     * is deleted only if it is what was archived. The server runs the policies by itself, too.
     * Repeat the call, with the token of the response, while it has one. Such a call takes further sessions, and its response has
     * those only; its cost does not grow with the sessions that are selected. The call is not repeated automatically.
     * Errors: RETENTION_NOT_CONFIGURED, ARCHIVE_FAILED, INVALID_FIELD.
     * </pre>
     */
    public void runRetention(dev.threadkeep.v1.RunRetentionRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.RunRetentionResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getRunRetentionMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Returns receipts of sessions of the caller's tenant that retention deleted, newest first; to a caller that is bound to a
     * user or an app those of its sessions.
     * Errors: RETENTION_NOT_CONFIGURED, ARCHIVE_FAILED, INVALID_FIELD, INVALID_PAGE_TOKEN, PERMISSION_DENIED.
     * </pre>
     */
    public void listRetentionReceipts(dev.threadkeep.v1.ListRetentionReceiptsRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.ListRetentionReceiptsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListRetentionReceiptsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Stores an archived session again: its events with their ids, seqs and bytes, its window, labels, metadata and state. It gets
     * another uid, and its events other record times. The archive stays. An archive that is not what was written is refused, and so
     * is one of a session whose name has other events now. A repeated call changes nothing, and continues one that was interrupted.
     * Policies do not select the session by its age for a week.
     * Errors: RETENTION_NOT_CONFIGURED, ARCHIVE_FAILED, SESSION_NOT_FOUND (there is no archive of it), INVALID_FIELD,
     * PERMISSION_DENIED.
     * </pre>
     */
    public void restoreSession(dev.threadkeep.v1.RestoreSessionRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.RestoreSessionResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getRestoreSessionMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service ServerService.
   * <pre>
   * Describes the server, and has the calls of its operators.
   * </pre>
   */
  public static final class ServerServiceBlockingV2Stub
      extends io.grpc.stub.AbstractBlockingStub<ServerServiceBlockingV2Stub> {
    private ServerServiceBlockingV2Stub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected ServerServiceBlockingV2Stub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new ServerServiceBlockingV2Stub(channel, callOptions);
    }

    /**
     * <pre>
     * Returns version, engine, durability, limits, capabilities and totals.
     * </pre>
     */
    public dev.threadkeep.v1.GetServerInfoResponse getServerInfo(dev.threadkeep.v1.GetServerInfoRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetServerInfoMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Returns records of the audit log of the server that answers, newest first: of calls of the caller's tenant, and of a caller
     * that is bound to a user or an app, of credentials with the same binding. Each server has a log of its own, which reaches back
     * to the last rotation of its file. Records of calls without a known caller belong to no tenant and are not returned.
     * Errors: AUDIT_LOG_UNAVAILABLE (the setting audit_log names no file, or it cannot be read), INVALID_FIELD, INVALID_PAGE_TOKEN
     * (also after the file was rotated), RATE_LIMITED (too many reads of the log at a time).
     * </pre>
     */
    public dev.threadkeep.v1.ListAuditRecordsResponse listAuditRecords(dev.threadkeep.v1.ListAuditRecordsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListAuditRecordsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Runs the server's retention policies over the sessions of the caller's tenant, of a caller that is bound to a user or an app
     * over theirs: archives and deletes up to max_sessions. A dry run changes nothing and reports what a run would take. A session
     * is deleted only if it is what was archived. The server runs the policies by itself, too.
     * Repeat the call, with the token of the response, while it has one. Such a call takes further sessions, and its response has
     * those only; its cost does not grow with the sessions that are selected. The call is not repeated automatically.
     * Errors: RETENTION_NOT_CONFIGURED, ARCHIVE_FAILED, INVALID_FIELD.
     * </pre>
     */
    public dev.threadkeep.v1.RunRetentionResponse runRetention(dev.threadkeep.v1.RunRetentionRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getRunRetentionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Returns receipts of sessions of the caller's tenant that retention deleted, newest first; to a caller that is bound to a
     * user or an app those of its sessions.
     * Errors: RETENTION_NOT_CONFIGURED, ARCHIVE_FAILED, INVALID_FIELD, INVALID_PAGE_TOKEN, PERMISSION_DENIED.
     * </pre>
     */
    public dev.threadkeep.v1.ListRetentionReceiptsResponse listRetentionReceipts(dev.threadkeep.v1.ListRetentionReceiptsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListRetentionReceiptsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Stores an archived session again: its events with their ids, seqs and bytes, its window, labels, metadata and state. It gets
     * another uid, and its events other record times. The archive stays. An archive that is not what was written is refused, and so
     * is one of a session whose name has other events now. A repeated call changes nothing, and continues one that was interrupted.
     * Policies do not select the session by its age for a week.
     * Errors: RETENTION_NOT_CONFIGURED, ARCHIVE_FAILED, SESSION_NOT_FOUND (there is no archive of it), INVALID_FIELD,
     * PERMISSION_DENIED.
     * </pre>
     */
    public dev.threadkeep.v1.RestoreSessionResponse restoreSession(dev.threadkeep.v1.RestoreSessionRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getRestoreSessionMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do limited synchronous rpc calls to service ServerService.
   * <pre>
   * Describes the server, and has the calls of its operators.
   * </pre>
   */
  public static final class ServerServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<ServerServiceBlockingStub> {
    private ServerServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected ServerServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new ServerServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * Returns version, engine, durability, limits, capabilities and totals.
     * </pre>
     */
    public dev.threadkeep.v1.GetServerInfoResponse getServerInfo(dev.threadkeep.v1.GetServerInfoRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetServerInfoMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Returns records of the audit log of the server that answers, newest first: of calls of the caller's tenant, and of a caller
     * that is bound to a user or an app, of credentials with the same binding. Each server has a log of its own, which reaches back
     * to the last rotation of its file. Records of calls without a known caller belong to no tenant and are not returned.
     * Errors: AUDIT_LOG_UNAVAILABLE (the setting audit_log names no file, or it cannot be read), INVALID_FIELD, INVALID_PAGE_TOKEN
     * (also after the file was rotated), RATE_LIMITED (too many reads of the log at a time).
     * </pre>
     */
    public dev.threadkeep.v1.ListAuditRecordsResponse listAuditRecords(dev.threadkeep.v1.ListAuditRecordsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListAuditRecordsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Runs the server's retention policies over the sessions of the caller's tenant, of a caller that is bound to a user or an app
     * over theirs: archives and deletes up to max_sessions. A dry run changes nothing and reports what a run would take. A session
     * is deleted only if it is what was archived. The server runs the policies by itself, too.
     * Repeat the call, with the token of the response, while it has one. Such a call takes further sessions, and its response has
     * those only; its cost does not grow with the sessions that are selected. The call is not repeated automatically.
     * Errors: RETENTION_NOT_CONFIGURED, ARCHIVE_FAILED, INVALID_FIELD.
     * </pre>
     */
    public dev.threadkeep.v1.RunRetentionResponse runRetention(dev.threadkeep.v1.RunRetentionRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getRunRetentionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Returns receipts of sessions of the caller's tenant that retention deleted, newest first; to a caller that is bound to a
     * user or an app those of its sessions.
     * Errors: RETENTION_NOT_CONFIGURED, ARCHIVE_FAILED, INVALID_FIELD, INVALID_PAGE_TOKEN, PERMISSION_DENIED.
     * </pre>
     */
    public dev.threadkeep.v1.ListRetentionReceiptsResponse listRetentionReceipts(dev.threadkeep.v1.ListRetentionReceiptsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListRetentionReceiptsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Stores an archived session again: its events with their ids, seqs and bytes, its window, labels, metadata and state. It gets
     * another uid, and its events other record times. The archive stays. An archive that is not what was written is refused, and so
     * is one of a session whose name has other events now. A repeated call changes nothing, and continues one that was interrupted.
     * Policies do not select the session by its age for a week.
     * Errors: RETENTION_NOT_CONFIGURED, ARCHIVE_FAILED, SESSION_NOT_FOUND (there is no archive of it), INVALID_FIELD,
     * PERMISSION_DENIED.
     * </pre>
     */
    public dev.threadkeep.v1.RestoreSessionResponse restoreSession(dev.threadkeep.v1.RestoreSessionRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getRestoreSessionMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service ServerService.
   * <pre>
   * Describes the server, and has the calls of its operators.
   * </pre>
   */
  public static final class ServerServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<ServerServiceFutureStub> {
    private ServerServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected ServerServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new ServerServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * Returns version, engine, durability, limits, capabilities and totals.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.threadkeep.v1.GetServerInfoResponse> getServerInfo(
        dev.threadkeep.v1.GetServerInfoRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetServerInfoMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Returns records of the audit log of the server that answers, newest first: of calls of the caller's tenant, and of a caller
     * that is bound to a user or an app, of credentials with the same binding. Each server has a log of its own, which reaches back
     * to the last rotation of its file. Records of calls without a known caller belong to no tenant and are not returned.
     * Errors: AUDIT_LOG_UNAVAILABLE (the setting audit_log names no file, or it cannot be read), INVALID_FIELD, INVALID_PAGE_TOKEN
     * (also after the file was rotated), RATE_LIMITED (too many reads of the log at a time).
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.threadkeep.v1.ListAuditRecordsResponse> listAuditRecords(
        dev.threadkeep.v1.ListAuditRecordsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListAuditRecordsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Runs the server's retention policies over the sessions of the caller's tenant, of a caller that is bound to a user or an app
     * over theirs: archives and deletes up to max_sessions. A dry run changes nothing and reports what a run would take. A session
     * is deleted only if it is what was archived. The server runs the policies by itself, too.
     * Repeat the call, with the token of the response, while it has one. Such a call takes further sessions, and its response has
     * those only; its cost does not grow with the sessions that are selected. The call is not repeated automatically.
     * Errors: RETENTION_NOT_CONFIGURED, ARCHIVE_FAILED, INVALID_FIELD.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.threadkeep.v1.RunRetentionResponse> runRetention(
        dev.threadkeep.v1.RunRetentionRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getRunRetentionMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Returns receipts of sessions of the caller's tenant that retention deleted, newest first; to a caller that is bound to a
     * user or an app those of its sessions.
     * Errors: RETENTION_NOT_CONFIGURED, ARCHIVE_FAILED, INVALID_FIELD, INVALID_PAGE_TOKEN, PERMISSION_DENIED.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.threadkeep.v1.ListRetentionReceiptsResponse> listRetentionReceipts(
        dev.threadkeep.v1.ListRetentionReceiptsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListRetentionReceiptsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Stores an archived session again: its events with their ids, seqs and bytes, its window, labels, metadata and state. It gets
     * another uid, and its events other record times. The archive stays. An archive that is not what was written is refused, and so
     * is one of a session whose name has other events now. A repeated call changes nothing, and continues one that was interrupted.
     * Policies do not select the session by its age for a week.
     * Errors: RETENTION_NOT_CONFIGURED, ARCHIVE_FAILED, SESSION_NOT_FOUND (there is no archive of it), INVALID_FIELD,
     * PERMISSION_DENIED.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.threadkeep.v1.RestoreSessionResponse> restoreSession(
        dev.threadkeep.v1.RestoreSessionRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getRestoreSessionMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_GET_SERVER_INFO = 0;
  private static final int METHODID_LIST_AUDIT_RECORDS = 1;
  private static final int METHODID_RUN_RETENTION = 2;
  private static final int METHODID_LIST_RETENTION_RECEIPTS = 3;
  private static final int METHODID_RESTORE_SESSION = 4;

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
        case METHODID_GET_SERVER_INFO:
          serviceImpl.getServerInfo((dev.threadkeep.v1.GetServerInfoRequest) request,
              (io.grpc.stub.StreamObserver<dev.threadkeep.v1.GetServerInfoResponse>) responseObserver);
          break;
        case METHODID_LIST_AUDIT_RECORDS:
          serviceImpl.listAuditRecords((dev.threadkeep.v1.ListAuditRecordsRequest) request,
              (io.grpc.stub.StreamObserver<dev.threadkeep.v1.ListAuditRecordsResponse>) responseObserver);
          break;
        case METHODID_RUN_RETENTION:
          serviceImpl.runRetention((dev.threadkeep.v1.RunRetentionRequest) request,
              (io.grpc.stub.StreamObserver<dev.threadkeep.v1.RunRetentionResponse>) responseObserver);
          break;
        case METHODID_LIST_RETENTION_RECEIPTS:
          serviceImpl.listRetentionReceipts((dev.threadkeep.v1.ListRetentionReceiptsRequest) request,
              (io.grpc.stub.StreamObserver<dev.threadkeep.v1.ListRetentionReceiptsResponse>) responseObserver);
          break;
        case METHODID_RESTORE_SESSION:
          serviceImpl.restoreSession((dev.threadkeep.v1.RestoreSessionRequest) request,
              (io.grpc.stub.StreamObserver<dev.threadkeep.v1.RestoreSessionResponse>) responseObserver);
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
          getGetServerInfoMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.threadkeep.v1.GetServerInfoRequest,
              dev.threadkeep.v1.GetServerInfoResponse>(
                service, METHODID_GET_SERVER_INFO)))
        .addMethod(
          getListAuditRecordsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.threadkeep.v1.ListAuditRecordsRequest,
              dev.threadkeep.v1.ListAuditRecordsResponse>(
                service, METHODID_LIST_AUDIT_RECORDS)))
        .addMethod(
          getRunRetentionMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.threadkeep.v1.RunRetentionRequest,
              dev.threadkeep.v1.RunRetentionResponse>(
                service, METHODID_RUN_RETENTION)))
        .addMethod(
          getListRetentionReceiptsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.threadkeep.v1.ListRetentionReceiptsRequest,
              dev.threadkeep.v1.ListRetentionReceiptsResponse>(
                service, METHODID_LIST_RETENTION_RECEIPTS)))
        .addMethod(
          getRestoreSessionMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.threadkeep.v1.RestoreSessionRequest,
              dev.threadkeep.v1.RestoreSessionResponse>(
                service, METHODID_RESTORE_SESSION)))
        .build();
  }

  private static abstract class ServerServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    ServerServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return dev.threadkeep.v1.ServerServiceOuterClass.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("ServerService");
    }
  }

  private static final class ServerServiceFileDescriptorSupplier
      extends ServerServiceBaseDescriptorSupplier {
    ServerServiceFileDescriptorSupplier() {}
  }

  private static final class ServerServiceMethodDescriptorSupplier
      extends ServerServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    ServerServiceMethodDescriptorSupplier(java.lang.String methodName) {
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
      synchronized (ServerServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new ServerServiceFileDescriptorSupplier())
              .addMethod(getGetServerInfoMethod())
              .addMethod(getListAuditRecordsMethod())
              .addMethod(getRunRetentionMethod())
              .addMethod(getListRetentionReceiptsMethod())
              .addMethod(getRestoreSessionMethod())
              .build();
        }
      }
    }
    return result;
  }
}
