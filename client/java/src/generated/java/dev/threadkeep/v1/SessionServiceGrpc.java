package dev.threadkeep.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * Creates, reads, updates and deletes sessions, lists users, and erases everything of a user, of an app, or with labels.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class SessionServiceGrpc {

  private SessionServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "threadkeep.v1.SessionService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<dev.threadkeep.v1.CreateSessionRequest,
      dev.threadkeep.v1.CreateSessionResponse> getCreateSessionMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "CreateSession",
      requestType = dev.threadkeep.v1.CreateSessionRequest.class,
      responseType = dev.threadkeep.v1.CreateSessionResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.threadkeep.v1.CreateSessionRequest,
      dev.threadkeep.v1.CreateSessionResponse> getCreateSessionMethod() {
    io.grpc.MethodDescriptor<dev.threadkeep.v1.CreateSessionRequest, dev.threadkeep.v1.CreateSessionResponse> getCreateSessionMethod;
    if ((getCreateSessionMethod = SessionServiceGrpc.getCreateSessionMethod) == null) {
      synchronized (SessionServiceGrpc.class) {
        if ((getCreateSessionMethod = SessionServiceGrpc.getCreateSessionMethod) == null) {
          SessionServiceGrpc.getCreateSessionMethod = getCreateSessionMethod =
              io.grpc.MethodDescriptor.<dev.threadkeep.v1.CreateSessionRequest, dev.threadkeep.v1.CreateSessionResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "CreateSession"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.CreateSessionRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.CreateSessionResponse.getDefaultInstance()))
              .setSchemaDescriptor(new SessionServiceMethodDescriptorSupplier("CreateSession"))
              .build();
        }
      }
    }
    return getCreateSessionMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.threadkeep.v1.ForkSessionRequest,
      dev.threadkeep.v1.ForkSessionResponse> getForkSessionMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ForkSession",
      requestType = dev.threadkeep.v1.ForkSessionRequest.class,
      responseType = dev.threadkeep.v1.ForkSessionResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.threadkeep.v1.ForkSessionRequest,
      dev.threadkeep.v1.ForkSessionResponse> getForkSessionMethod() {
    io.grpc.MethodDescriptor<dev.threadkeep.v1.ForkSessionRequest, dev.threadkeep.v1.ForkSessionResponse> getForkSessionMethod;
    if ((getForkSessionMethod = SessionServiceGrpc.getForkSessionMethod) == null) {
      synchronized (SessionServiceGrpc.class) {
        if ((getForkSessionMethod = SessionServiceGrpc.getForkSessionMethod) == null) {
          SessionServiceGrpc.getForkSessionMethod = getForkSessionMethod =
              io.grpc.MethodDescriptor.<dev.threadkeep.v1.ForkSessionRequest, dev.threadkeep.v1.ForkSessionResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ForkSession"))
              .setIdempotent(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.ForkSessionRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.ForkSessionResponse.getDefaultInstance()))
              .setSchemaDescriptor(new SessionServiceMethodDescriptorSupplier("ForkSession"))
              .build();
        }
      }
    }
    return getForkSessionMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.threadkeep.v1.GetSessionRequest,
      dev.threadkeep.v1.GetSessionResponse> getGetSessionMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetSession",
      requestType = dev.threadkeep.v1.GetSessionRequest.class,
      responseType = dev.threadkeep.v1.GetSessionResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.threadkeep.v1.GetSessionRequest,
      dev.threadkeep.v1.GetSessionResponse> getGetSessionMethod() {
    io.grpc.MethodDescriptor<dev.threadkeep.v1.GetSessionRequest, dev.threadkeep.v1.GetSessionResponse> getGetSessionMethod;
    if ((getGetSessionMethod = SessionServiceGrpc.getGetSessionMethod) == null) {
      synchronized (SessionServiceGrpc.class) {
        if ((getGetSessionMethod = SessionServiceGrpc.getGetSessionMethod) == null) {
          SessionServiceGrpc.getGetSessionMethod = getGetSessionMethod =
              io.grpc.MethodDescriptor.<dev.threadkeep.v1.GetSessionRequest, dev.threadkeep.v1.GetSessionResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetSession"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.GetSessionRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.GetSessionResponse.getDefaultInstance()))
              .setSchemaDescriptor(new SessionServiceMethodDescriptorSupplier("GetSession"))
              .build();
        }
      }
    }
    return getGetSessionMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.threadkeep.v1.ListSessionsRequest,
      dev.threadkeep.v1.ListSessionsResponse> getListSessionsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListSessions",
      requestType = dev.threadkeep.v1.ListSessionsRequest.class,
      responseType = dev.threadkeep.v1.ListSessionsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.threadkeep.v1.ListSessionsRequest,
      dev.threadkeep.v1.ListSessionsResponse> getListSessionsMethod() {
    io.grpc.MethodDescriptor<dev.threadkeep.v1.ListSessionsRequest, dev.threadkeep.v1.ListSessionsResponse> getListSessionsMethod;
    if ((getListSessionsMethod = SessionServiceGrpc.getListSessionsMethod) == null) {
      synchronized (SessionServiceGrpc.class) {
        if ((getListSessionsMethod = SessionServiceGrpc.getListSessionsMethod) == null) {
          SessionServiceGrpc.getListSessionsMethod = getListSessionsMethod =
              io.grpc.MethodDescriptor.<dev.threadkeep.v1.ListSessionsRequest, dev.threadkeep.v1.ListSessionsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListSessions"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.ListSessionsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.ListSessionsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new SessionServiceMethodDescriptorSupplier("ListSessions"))
              .build();
        }
      }
    }
    return getListSessionsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.threadkeep.v1.ListUsersRequest,
      dev.threadkeep.v1.ListUsersResponse> getListUsersMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListUsers",
      requestType = dev.threadkeep.v1.ListUsersRequest.class,
      responseType = dev.threadkeep.v1.ListUsersResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.threadkeep.v1.ListUsersRequest,
      dev.threadkeep.v1.ListUsersResponse> getListUsersMethod() {
    io.grpc.MethodDescriptor<dev.threadkeep.v1.ListUsersRequest, dev.threadkeep.v1.ListUsersResponse> getListUsersMethod;
    if ((getListUsersMethod = SessionServiceGrpc.getListUsersMethod) == null) {
      synchronized (SessionServiceGrpc.class) {
        if ((getListUsersMethod = SessionServiceGrpc.getListUsersMethod) == null) {
          SessionServiceGrpc.getListUsersMethod = getListUsersMethod =
              io.grpc.MethodDescriptor.<dev.threadkeep.v1.ListUsersRequest, dev.threadkeep.v1.ListUsersResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListUsers"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.ListUsersRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.ListUsersResponse.getDefaultInstance()))
              .setSchemaDescriptor(new SessionServiceMethodDescriptorSupplier("ListUsers"))
              .build();
        }
      }
    }
    return getListUsersMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.threadkeep.v1.UpdateSessionRequest,
      dev.threadkeep.v1.UpdateSessionResponse> getUpdateSessionMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "UpdateSession",
      requestType = dev.threadkeep.v1.UpdateSessionRequest.class,
      responseType = dev.threadkeep.v1.UpdateSessionResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.threadkeep.v1.UpdateSessionRequest,
      dev.threadkeep.v1.UpdateSessionResponse> getUpdateSessionMethod() {
    io.grpc.MethodDescriptor<dev.threadkeep.v1.UpdateSessionRequest, dev.threadkeep.v1.UpdateSessionResponse> getUpdateSessionMethod;
    if ((getUpdateSessionMethod = SessionServiceGrpc.getUpdateSessionMethod) == null) {
      synchronized (SessionServiceGrpc.class) {
        if ((getUpdateSessionMethod = SessionServiceGrpc.getUpdateSessionMethod) == null) {
          SessionServiceGrpc.getUpdateSessionMethod = getUpdateSessionMethod =
              io.grpc.MethodDescriptor.<dev.threadkeep.v1.UpdateSessionRequest, dev.threadkeep.v1.UpdateSessionResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "UpdateSession"))
              .setIdempotent(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.UpdateSessionRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.UpdateSessionResponse.getDefaultInstance()))
              .setSchemaDescriptor(new SessionServiceMethodDescriptorSupplier("UpdateSession"))
              .build();
        }
      }
    }
    return getUpdateSessionMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.threadkeep.v1.MoveSessionRequest,
      dev.threadkeep.v1.MoveSessionResponse> getMoveSessionMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "MoveSession",
      requestType = dev.threadkeep.v1.MoveSessionRequest.class,
      responseType = dev.threadkeep.v1.MoveSessionResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.threadkeep.v1.MoveSessionRequest,
      dev.threadkeep.v1.MoveSessionResponse> getMoveSessionMethod() {
    io.grpc.MethodDescriptor<dev.threadkeep.v1.MoveSessionRequest, dev.threadkeep.v1.MoveSessionResponse> getMoveSessionMethod;
    if ((getMoveSessionMethod = SessionServiceGrpc.getMoveSessionMethod) == null) {
      synchronized (SessionServiceGrpc.class) {
        if ((getMoveSessionMethod = SessionServiceGrpc.getMoveSessionMethod) == null) {
          SessionServiceGrpc.getMoveSessionMethod = getMoveSessionMethod =
              io.grpc.MethodDescriptor.<dev.threadkeep.v1.MoveSessionRequest, dev.threadkeep.v1.MoveSessionResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "MoveSession"))
              .setIdempotent(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.MoveSessionRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.MoveSessionResponse.getDefaultInstance()))
              .setSchemaDescriptor(new SessionServiceMethodDescriptorSupplier("MoveSession"))
              .build();
        }
      }
    }
    return getMoveSessionMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.threadkeep.v1.DeleteSessionRequest,
      dev.threadkeep.v1.DeleteSessionResponse> getDeleteSessionMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "DeleteSession",
      requestType = dev.threadkeep.v1.DeleteSessionRequest.class,
      responseType = dev.threadkeep.v1.DeleteSessionResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.threadkeep.v1.DeleteSessionRequest,
      dev.threadkeep.v1.DeleteSessionResponse> getDeleteSessionMethod() {
    io.grpc.MethodDescriptor<dev.threadkeep.v1.DeleteSessionRequest, dev.threadkeep.v1.DeleteSessionResponse> getDeleteSessionMethod;
    if ((getDeleteSessionMethod = SessionServiceGrpc.getDeleteSessionMethod) == null) {
      synchronized (SessionServiceGrpc.class) {
        if ((getDeleteSessionMethod = SessionServiceGrpc.getDeleteSessionMethod) == null) {
          SessionServiceGrpc.getDeleteSessionMethod = getDeleteSessionMethod =
              io.grpc.MethodDescriptor.<dev.threadkeep.v1.DeleteSessionRequest, dev.threadkeep.v1.DeleteSessionResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "DeleteSession"))
              .setIdempotent(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.DeleteSessionRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.DeleteSessionResponse.getDefaultInstance()))
              .setSchemaDescriptor(new SessionServiceMethodDescriptorSupplier("DeleteSession"))
              .build();
        }
      }
    }
    return getDeleteSessionMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.threadkeep.v1.DeleteExpiredSessionsRequest,
      dev.threadkeep.v1.DeleteExpiredSessionsResponse> getDeleteExpiredSessionsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "DeleteExpiredSessions",
      requestType = dev.threadkeep.v1.DeleteExpiredSessionsRequest.class,
      responseType = dev.threadkeep.v1.DeleteExpiredSessionsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.threadkeep.v1.DeleteExpiredSessionsRequest,
      dev.threadkeep.v1.DeleteExpiredSessionsResponse> getDeleteExpiredSessionsMethod() {
    io.grpc.MethodDescriptor<dev.threadkeep.v1.DeleteExpiredSessionsRequest, dev.threadkeep.v1.DeleteExpiredSessionsResponse> getDeleteExpiredSessionsMethod;
    if ((getDeleteExpiredSessionsMethod = SessionServiceGrpc.getDeleteExpiredSessionsMethod) == null) {
      synchronized (SessionServiceGrpc.class) {
        if ((getDeleteExpiredSessionsMethod = SessionServiceGrpc.getDeleteExpiredSessionsMethod) == null) {
          SessionServiceGrpc.getDeleteExpiredSessionsMethod = getDeleteExpiredSessionsMethod =
              io.grpc.MethodDescriptor.<dev.threadkeep.v1.DeleteExpiredSessionsRequest, dev.threadkeep.v1.DeleteExpiredSessionsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "DeleteExpiredSessions"))
              .setIdempotent(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.DeleteExpiredSessionsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.DeleteExpiredSessionsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new SessionServiceMethodDescriptorSupplier("DeleteExpiredSessions"))
              .build();
        }
      }
    }
    return getDeleteExpiredSessionsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.threadkeep.v1.DeleteUserRequest,
      dev.threadkeep.v1.DeleteUserResponse> getDeleteUserMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "DeleteUser",
      requestType = dev.threadkeep.v1.DeleteUserRequest.class,
      responseType = dev.threadkeep.v1.DeleteUserResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.threadkeep.v1.DeleteUserRequest,
      dev.threadkeep.v1.DeleteUserResponse> getDeleteUserMethod() {
    io.grpc.MethodDescriptor<dev.threadkeep.v1.DeleteUserRequest, dev.threadkeep.v1.DeleteUserResponse> getDeleteUserMethod;
    if ((getDeleteUserMethod = SessionServiceGrpc.getDeleteUserMethod) == null) {
      synchronized (SessionServiceGrpc.class) {
        if ((getDeleteUserMethod = SessionServiceGrpc.getDeleteUserMethod) == null) {
          SessionServiceGrpc.getDeleteUserMethod = getDeleteUserMethod =
              io.grpc.MethodDescriptor.<dev.threadkeep.v1.DeleteUserRequest, dev.threadkeep.v1.DeleteUserResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "DeleteUser"))
              .setIdempotent(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.DeleteUserRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.DeleteUserResponse.getDefaultInstance()))
              .setSchemaDescriptor(new SessionServiceMethodDescriptorSupplier("DeleteUser"))
              .build();
        }
      }
    }
    return getDeleteUserMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.threadkeep.v1.DeleteAppRequest,
      dev.threadkeep.v1.DeleteAppResponse> getDeleteAppMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "DeleteApp",
      requestType = dev.threadkeep.v1.DeleteAppRequest.class,
      responseType = dev.threadkeep.v1.DeleteAppResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.threadkeep.v1.DeleteAppRequest,
      dev.threadkeep.v1.DeleteAppResponse> getDeleteAppMethod() {
    io.grpc.MethodDescriptor<dev.threadkeep.v1.DeleteAppRequest, dev.threadkeep.v1.DeleteAppResponse> getDeleteAppMethod;
    if ((getDeleteAppMethod = SessionServiceGrpc.getDeleteAppMethod) == null) {
      synchronized (SessionServiceGrpc.class) {
        if ((getDeleteAppMethod = SessionServiceGrpc.getDeleteAppMethod) == null) {
          SessionServiceGrpc.getDeleteAppMethod = getDeleteAppMethod =
              io.grpc.MethodDescriptor.<dev.threadkeep.v1.DeleteAppRequest, dev.threadkeep.v1.DeleteAppResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "DeleteApp"))
              .setIdempotent(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.DeleteAppRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.DeleteAppResponse.getDefaultInstance()))
              .setSchemaDescriptor(new SessionServiceMethodDescriptorSupplier("DeleteApp"))
              .build();
        }
      }
    }
    return getDeleteAppMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.threadkeep.v1.DeleteByLabelRequest,
      dev.threadkeep.v1.DeleteByLabelResponse> getDeleteByLabelMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "DeleteByLabel",
      requestType = dev.threadkeep.v1.DeleteByLabelRequest.class,
      responseType = dev.threadkeep.v1.DeleteByLabelResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.threadkeep.v1.DeleteByLabelRequest,
      dev.threadkeep.v1.DeleteByLabelResponse> getDeleteByLabelMethod() {
    io.grpc.MethodDescriptor<dev.threadkeep.v1.DeleteByLabelRequest, dev.threadkeep.v1.DeleteByLabelResponse> getDeleteByLabelMethod;
    if ((getDeleteByLabelMethod = SessionServiceGrpc.getDeleteByLabelMethod) == null) {
      synchronized (SessionServiceGrpc.class) {
        if ((getDeleteByLabelMethod = SessionServiceGrpc.getDeleteByLabelMethod) == null) {
          SessionServiceGrpc.getDeleteByLabelMethod = getDeleteByLabelMethod =
              io.grpc.MethodDescriptor.<dev.threadkeep.v1.DeleteByLabelRequest, dev.threadkeep.v1.DeleteByLabelResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "DeleteByLabel"))
              .setIdempotent(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.DeleteByLabelRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.DeleteByLabelResponse.getDefaultInstance()))
              .setSchemaDescriptor(new SessionServiceMethodDescriptorSupplier("DeleteByLabel"))
              .build();
        }
      }
    }
    return getDeleteByLabelMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static SessionServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<SessionServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<SessionServiceStub>() {
        @java.lang.Override
        public SessionServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new SessionServiceStub(channel, callOptions);
        }
      };
    return SessionServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports all types of calls on the service
   */
  public static SessionServiceBlockingV2Stub newBlockingV2Stub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<SessionServiceBlockingV2Stub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<SessionServiceBlockingV2Stub>() {
        @java.lang.Override
        public SessionServiceBlockingV2Stub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new SessionServiceBlockingV2Stub(channel, callOptions);
        }
      };
    return SessionServiceBlockingV2Stub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static SessionServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<SessionServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<SessionServiceBlockingStub>() {
        @java.lang.Override
        public SessionServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new SessionServiceBlockingStub(channel, callOptions);
        }
      };
    return SessionServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static SessionServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<SessionServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<SessionServiceFutureStub>() {
        @java.lang.Override
        public SessionServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new SessionServiceFutureStub(channel, callOptions);
        }
      };
    return SessionServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * Creates, reads, updates and deletes sessions, lists users, and erases everything of a user, of an app, or with labels.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * Creates a session.
     * Errors: SESSION_ALREADY_EXISTS (unless return_existing; always for a session of another user with unique_in_app),
     * INVALID_FIELD.
     * </pre>
     */
    default void createSession(dev.threadkeep.v1.CreateSessionRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.CreateSessionResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getCreateSessionMethod(), responseObserver);
    }

    /**
     * <pre>
     * Creates a session that is a copy of another one as of a point in its history, by default the present. It has the events up
     * to there, archived ones included, with their seqs, ids and times, the active window, the compactions and the session's state
     * as they were; reads as of an earlier moment answer what they answer for the parent. Events that were erased since are
     * tombstones outside its window. It has the owner of the parent, but not its compaction policy, consumers or operation ids.
     * Other calls continue while a long session is copied, and nobody sees a part of it. Both sessions are independent afterwards:
     * an erasure or a deletion concerns one of them.
     * Errors: SESSION_NOT_FOUND, AMBIGUOUS_SESSION, EVENT_NOT_FOUND, SESSION_ALREADY_EXISTS, HISTORY_UNKNOWN, OPERATION_CONFLICT,
     * QUOTA_EXCEEDED, INVALID_FIELD, STORE_UNAVAILABLE.
     * </pre>
     */
    default void forkSession(dev.threadkeep.v1.ForkSessionRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.ForkSessionResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getForkSessionMethod(), responseObserver);
    }

    /**
     * <pre>
     * Returns the metadata of a session.
     * Errors: SESSION_NOT_FOUND, AMBIGUOUS_SESSION.
     * </pre>
     */
    default void getSession(dev.threadkeep.v1.GetSessionRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.GetSessionResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetSessionMethod(), responseObserver);
    }

    /**
     * <pre>
     * Lists sessions, by default by create_time, newest first. The cost of a page does not depend on the number of sessions, but on
     * that of the sessions which conditions on labels, id or time pass over; by update_time, on that of those updated in the same
     * minute as one of the page.
     * Errors: INVALID_FIELD, INVALID_PAGE_TOKEN.
     * </pre>
     */
    default void listSessions(dev.threadkeep.v1.ListSessionsRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.ListSessionsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListSessionsMethod(), responseObserver);
    }

    /**
     * <pre>
     * Lists the users that have sessions, memories or state, those of an app one after another. The cost of a page grows with its
     * users, not with what they have.
     * Errors: INVALID_FIELD, INVALID_PAGE_TOKEN, PERMISSION_DENIED (the credential is bound to a user).
     * </pre>
     */
    default void listUsers(dev.threadkeep.v1.ListUsersRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.ListUsersResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListUsersMethod(), responseObserver);
    }

    /**
     * <pre>
     * Updates the fields in the mask, or parts of the metadata and of the labels.
     * Errors: SESSION_NOT_FOUND, VERSION_MISMATCH (of the etag), OPERATION_CONFLICT, INVALID_FIELD.
     * </pre>
     */
    default void updateSession(dev.threadkeep.v1.UpdateSessionRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.UpdateSessionResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getUpdateSessionMethod(), responseObserver);
    }

    /**
     * <pre>
     * Gives a session to another user of its app, in one step. Its events, compactions, state, labels, policy and operation ids
     * stay as they are. Memories that came from it stay with the former owner, whose calls do not find it any more: an append
     * under the old name is either in the log before the move, or returns SESSION_NOT_FOUND; with create_if_missing it creates
     * another session. Subscriptions of the former owner receive MOVED_OUT in place of what they have not received yet; those of
     * the new owner receive MOVED_IN and what follows. SEMANTIC searches of the new owner find its events shortly after, once
     * the search index has followed; all others at once.
     * Errors: SESSION_NOT_FOUND, AMBIGUOUS_SESSION, SESSION_ALREADY_EXISTS, OPERATION_CONFLICT, INVALID_FIELD,
     * PERMISSION_DENIED (the credential is bound to a user).
     * </pre>
     */
    default void moveSession(dev.threadkeep.v1.MoveSessionRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.MoveSessionResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getMoveSessionMethod(), responseObserver);
    }

    /**
     * <pre>
     * Deletes a session and its events: no call returns them any more. The stored bytes of a session of more than 1,000 events are
     * removed shortly after. Succeeds if the session does not exist. The id can be used again; no tombstone is kept.
     * Errors: VERSION_MISMATCH (of the uid), AMBIGUOUS_SESSION, INVALID_FIELD, ARCHIVE_FAILED (with purge_memories: the session is
     * deleted, and its archives may be left; repeat the call).
     * </pre>
     */
    default void deleteSession(dev.threadkeep.v1.DeleteSessionRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.DeleteSessionResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getDeleteSessionMethod(), responseObserver);
    }

    /**
     * <pre>
     * Deletes sessions whose expire_time has passed, at most 1,000 per call. The server also deletes them automatically.
     * Errors: INVALID_FIELD, PERMISSION_DENIED.
     * </pre>
     */
    default void deleteExpiredSessions(dev.threadkeep.v1.DeleteExpiredSessionsRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.DeleteExpiredSessionsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getDeleteExpiredSessionsMethod(), responseObserver);
    }

    /**
     * <pre>
     * Deletes everything of a user: sessions, memories, compaction policies, archives of retention and, without an app, consumers.
     * What is added while the call runs stays. Returns after about 10 seconds if more is left: repeat the call until `more` is false. See
     * ErasureReceipt.
     * Errors: INVALID_FIELD, PERMISSION_DENIED, ARCHIVE_FAILED (archives may be left; repeat the call).
     * </pre>
     */
    default void deleteUser(dev.threadkeep.v1.DeleteUserRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.DeleteUserResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getDeleteUserMethod(), responseObserver);
    }

    /**
     * <pre>
     * Deletes everything of an app: the sessions, memories and archives of all its users, and its compaction policies. Repeat the call
     * as for DeleteUser.
     * Errors: INVALID_FIELD, ARCHIVE_FAILED, PERMISSION_DENIED (the credential is bound to a user: use DeleteUser).
     * </pre>
     */
    default void deleteApp(dev.threadkeep.v1.DeleteAppRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.DeleteAppResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getDeleteAppMethod(), responseObserver);
    }

    /**
     * <pre>
     * Deletes the sessions with labels and their archives, optionally with the memories that came from them. Repeat the call as for
     * DeleteUser.
     * Errors: INVALID_FIELD, PERMISSION_DENIED, ARCHIVE_FAILED.
     * </pre>
     */
    default void deleteByLabel(dev.threadkeep.v1.DeleteByLabelRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.DeleteByLabelResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getDeleteByLabelMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service SessionService.
   * <pre>
   * Creates, reads, updates and deletes sessions, lists users, and erases everything of a user, of an app, or with labels.
   * </pre>
   */
  public static abstract class SessionServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return SessionServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service SessionService.
   * <pre>
   * Creates, reads, updates and deletes sessions, lists users, and erases everything of a user, of an app, or with labels.
   * </pre>
   */
  public static final class SessionServiceStub
      extends io.grpc.stub.AbstractAsyncStub<SessionServiceStub> {
    private SessionServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected SessionServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new SessionServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * Creates a session.
     * Errors: SESSION_ALREADY_EXISTS (unless return_existing; always for a session of another user with unique_in_app),
     * INVALID_FIELD.
     * </pre>
     */
    public void createSession(dev.threadkeep.v1.CreateSessionRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.CreateSessionResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getCreateSessionMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Creates a session that is a copy of another one as of a point in its history, by default the present. It has the events up
     * to there, archived ones included, with their seqs, ids and times, the active window, the compactions and the session's state
     * as they were; reads as of an earlier moment answer what they answer for the parent. Events that were erased since are
     * tombstones outside its window. It has the owner of the parent, but not its compaction policy, consumers or operation ids.
     * Other calls continue while a long session is copied, and nobody sees a part of it. Both sessions are independent afterwards:
     * an erasure or a deletion concerns one of them.
     * Errors: SESSION_NOT_FOUND, AMBIGUOUS_SESSION, EVENT_NOT_FOUND, SESSION_ALREADY_EXISTS, HISTORY_UNKNOWN, OPERATION_CONFLICT,
     * QUOTA_EXCEEDED, INVALID_FIELD, STORE_UNAVAILABLE.
     * </pre>
     */
    public void forkSession(dev.threadkeep.v1.ForkSessionRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.ForkSessionResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getForkSessionMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Returns the metadata of a session.
     * Errors: SESSION_NOT_FOUND, AMBIGUOUS_SESSION.
     * </pre>
     */
    public void getSession(dev.threadkeep.v1.GetSessionRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.GetSessionResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetSessionMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Lists sessions, by default by create_time, newest first. The cost of a page does not depend on the number of sessions, but on
     * that of the sessions which conditions on labels, id or time pass over; by update_time, on that of those updated in the same
     * minute as one of the page.
     * Errors: INVALID_FIELD, INVALID_PAGE_TOKEN.
     * </pre>
     */
    public void listSessions(dev.threadkeep.v1.ListSessionsRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.ListSessionsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListSessionsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Lists the users that have sessions, memories or state, those of an app one after another. The cost of a page grows with its
     * users, not with what they have.
     * Errors: INVALID_FIELD, INVALID_PAGE_TOKEN, PERMISSION_DENIED (the credential is bound to a user).
     * </pre>
     */
    public void listUsers(dev.threadkeep.v1.ListUsersRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.ListUsersResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListUsersMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Updates the fields in the mask, or parts of the metadata and of the labels.
     * Errors: SESSION_NOT_FOUND, VERSION_MISMATCH (of the etag), OPERATION_CONFLICT, INVALID_FIELD.
     * </pre>
     */
    public void updateSession(dev.threadkeep.v1.UpdateSessionRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.UpdateSessionResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getUpdateSessionMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Gives a session to another user of its app, in one step. Its events, compactions, state, labels, policy and operation ids
     * stay as they are. Memories that came from it stay with the former owner, whose calls do not find it any more: an append
     * under the old name is either in the log before the move, or returns SESSION_NOT_FOUND; with create_if_missing it creates
     * another session. Subscriptions of the former owner receive MOVED_OUT in place of what they have not received yet; those of
     * the new owner receive MOVED_IN and what follows. SEMANTIC searches of the new owner find its events shortly after, once
     * the search index has followed; all others at once.
     * Errors: SESSION_NOT_FOUND, AMBIGUOUS_SESSION, SESSION_ALREADY_EXISTS, OPERATION_CONFLICT, INVALID_FIELD,
     * PERMISSION_DENIED (the credential is bound to a user).
     * </pre>
     */
    public void moveSession(dev.threadkeep.v1.MoveSessionRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.MoveSessionResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getMoveSessionMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Deletes a session and its events: no call returns them any more. The stored bytes of a session of more than 1,000 events are
     * removed shortly after. Succeeds if the session does not exist. The id can be used again; no tombstone is kept.
     * Errors: VERSION_MISMATCH (of the uid), AMBIGUOUS_SESSION, INVALID_FIELD, ARCHIVE_FAILED (with purge_memories: the session is
     * deleted, and its archives may be left; repeat the call).
     * </pre>
     */
    public void deleteSession(dev.threadkeep.v1.DeleteSessionRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.DeleteSessionResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getDeleteSessionMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Deletes sessions whose expire_time has passed, at most 1,000 per call. The server also deletes them automatically.
     * Errors: INVALID_FIELD, PERMISSION_DENIED.
     * </pre>
     */
    public void deleteExpiredSessions(dev.threadkeep.v1.DeleteExpiredSessionsRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.DeleteExpiredSessionsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getDeleteExpiredSessionsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Deletes everything of a user: sessions, memories, compaction policies, archives of retention and, without an app, consumers.
     * What is added while the call runs stays. Returns after about 10 seconds if more is left: repeat the call until `more` is false. See
     * ErasureReceipt.
     * Errors: INVALID_FIELD, PERMISSION_DENIED, ARCHIVE_FAILED (archives may be left; repeat the call).
     * </pre>
     */
    public void deleteUser(dev.threadkeep.v1.DeleteUserRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.DeleteUserResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getDeleteUserMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Deletes everything of an app: the sessions, memories and archives of all its users, and its compaction policies. Repeat the call
     * as for DeleteUser.
     * Errors: INVALID_FIELD, ARCHIVE_FAILED, PERMISSION_DENIED (the credential is bound to a user: use DeleteUser).
     * </pre>
     */
    public void deleteApp(dev.threadkeep.v1.DeleteAppRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.DeleteAppResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getDeleteAppMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Deletes the sessions with labels and their archives, optionally with the memories that came from them. Repeat the call as for
     * DeleteUser.
     * Errors: INVALID_FIELD, PERMISSION_DENIED, ARCHIVE_FAILED.
     * </pre>
     */
    public void deleteByLabel(dev.threadkeep.v1.DeleteByLabelRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.DeleteByLabelResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getDeleteByLabelMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service SessionService.
   * <pre>
   * Creates, reads, updates and deletes sessions, lists users, and erases everything of a user, of an app, or with labels.
   * </pre>
   */
  public static final class SessionServiceBlockingV2Stub
      extends io.grpc.stub.AbstractBlockingStub<SessionServiceBlockingV2Stub> {
    private SessionServiceBlockingV2Stub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected SessionServiceBlockingV2Stub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new SessionServiceBlockingV2Stub(channel, callOptions);
    }

    /**
     * <pre>
     * Creates a session.
     * Errors: SESSION_ALREADY_EXISTS (unless return_existing; always for a session of another user with unique_in_app),
     * INVALID_FIELD.
     * </pre>
     */
    public dev.threadkeep.v1.CreateSessionResponse createSession(dev.threadkeep.v1.CreateSessionRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getCreateSessionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Creates a session that is a copy of another one as of a point in its history, by default the present. It has the events up
     * to there, archived ones included, with their seqs, ids and times, the active window, the compactions and the session's state
     * as they were; reads as of an earlier moment answer what they answer for the parent. Events that were erased since are
     * tombstones outside its window. It has the owner of the parent, but not its compaction policy, consumers or operation ids.
     * Other calls continue while a long session is copied, and nobody sees a part of it. Both sessions are independent afterwards:
     * an erasure or a deletion concerns one of them.
     * Errors: SESSION_NOT_FOUND, AMBIGUOUS_SESSION, EVENT_NOT_FOUND, SESSION_ALREADY_EXISTS, HISTORY_UNKNOWN, OPERATION_CONFLICT,
     * QUOTA_EXCEEDED, INVALID_FIELD, STORE_UNAVAILABLE.
     * </pre>
     */
    public dev.threadkeep.v1.ForkSessionResponse forkSession(dev.threadkeep.v1.ForkSessionRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getForkSessionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Returns the metadata of a session.
     * Errors: SESSION_NOT_FOUND, AMBIGUOUS_SESSION.
     * </pre>
     */
    public dev.threadkeep.v1.GetSessionResponse getSession(dev.threadkeep.v1.GetSessionRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetSessionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists sessions, by default by create_time, newest first. The cost of a page does not depend on the number of sessions, but on
     * that of the sessions which conditions on labels, id or time pass over; by update_time, on that of those updated in the same
     * minute as one of the page.
     * Errors: INVALID_FIELD, INVALID_PAGE_TOKEN.
     * </pre>
     */
    public dev.threadkeep.v1.ListSessionsResponse listSessions(dev.threadkeep.v1.ListSessionsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListSessionsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists the users that have sessions, memories or state, those of an app one after another. The cost of a page grows with its
     * users, not with what they have.
     * Errors: INVALID_FIELD, INVALID_PAGE_TOKEN, PERMISSION_DENIED (the credential is bound to a user).
     * </pre>
     */
    public dev.threadkeep.v1.ListUsersResponse listUsers(dev.threadkeep.v1.ListUsersRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListUsersMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Updates the fields in the mask, or parts of the metadata and of the labels.
     * Errors: SESSION_NOT_FOUND, VERSION_MISMATCH (of the etag), OPERATION_CONFLICT, INVALID_FIELD.
     * </pre>
     */
    public dev.threadkeep.v1.UpdateSessionResponse updateSession(dev.threadkeep.v1.UpdateSessionRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getUpdateSessionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Gives a session to another user of its app, in one step. Its events, compactions, state, labels, policy and operation ids
     * stay as they are. Memories that came from it stay with the former owner, whose calls do not find it any more: an append
     * under the old name is either in the log before the move, or returns SESSION_NOT_FOUND; with create_if_missing it creates
     * another session. Subscriptions of the former owner receive MOVED_OUT in place of what they have not received yet; those of
     * the new owner receive MOVED_IN and what follows. SEMANTIC searches of the new owner find its events shortly after, once
     * the search index has followed; all others at once.
     * Errors: SESSION_NOT_FOUND, AMBIGUOUS_SESSION, SESSION_ALREADY_EXISTS, OPERATION_CONFLICT, INVALID_FIELD,
     * PERMISSION_DENIED (the credential is bound to a user).
     * </pre>
     */
    public dev.threadkeep.v1.MoveSessionResponse moveSession(dev.threadkeep.v1.MoveSessionRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getMoveSessionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Deletes a session and its events: no call returns them any more. The stored bytes of a session of more than 1,000 events are
     * removed shortly after. Succeeds if the session does not exist. The id can be used again; no tombstone is kept.
     * Errors: VERSION_MISMATCH (of the uid), AMBIGUOUS_SESSION, INVALID_FIELD, ARCHIVE_FAILED (with purge_memories: the session is
     * deleted, and its archives may be left; repeat the call).
     * </pre>
     */
    public dev.threadkeep.v1.DeleteSessionResponse deleteSession(dev.threadkeep.v1.DeleteSessionRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getDeleteSessionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Deletes sessions whose expire_time has passed, at most 1,000 per call. The server also deletes them automatically.
     * Errors: INVALID_FIELD, PERMISSION_DENIED.
     * </pre>
     */
    public dev.threadkeep.v1.DeleteExpiredSessionsResponse deleteExpiredSessions(dev.threadkeep.v1.DeleteExpiredSessionsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getDeleteExpiredSessionsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Deletes everything of a user: sessions, memories, compaction policies, archives of retention and, without an app, consumers.
     * What is added while the call runs stays. Returns after about 10 seconds if more is left: repeat the call until `more` is false. See
     * ErasureReceipt.
     * Errors: INVALID_FIELD, PERMISSION_DENIED, ARCHIVE_FAILED (archives may be left; repeat the call).
     * </pre>
     */
    public dev.threadkeep.v1.DeleteUserResponse deleteUser(dev.threadkeep.v1.DeleteUserRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getDeleteUserMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Deletes everything of an app: the sessions, memories and archives of all its users, and its compaction policies. Repeat the call
     * as for DeleteUser.
     * Errors: INVALID_FIELD, ARCHIVE_FAILED, PERMISSION_DENIED (the credential is bound to a user: use DeleteUser).
     * </pre>
     */
    public dev.threadkeep.v1.DeleteAppResponse deleteApp(dev.threadkeep.v1.DeleteAppRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getDeleteAppMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Deletes the sessions with labels and their archives, optionally with the memories that came from them. Repeat the call as for
     * DeleteUser.
     * Errors: INVALID_FIELD, PERMISSION_DENIED, ARCHIVE_FAILED.
     * </pre>
     */
    public dev.threadkeep.v1.DeleteByLabelResponse deleteByLabel(dev.threadkeep.v1.DeleteByLabelRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getDeleteByLabelMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do limited synchronous rpc calls to service SessionService.
   * <pre>
   * Creates, reads, updates and deletes sessions, lists users, and erases everything of a user, of an app, or with labels.
   * </pre>
   */
  public static final class SessionServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<SessionServiceBlockingStub> {
    private SessionServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected SessionServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new SessionServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * Creates a session.
     * Errors: SESSION_ALREADY_EXISTS (unless return_existing; always for a session of another user with unique_in_app),
     * INVALID_FIELD.
     * </pre>
     */
    public dev.threadkeep.v1.CreateSessionResponse createSession(dev.threadkeep.v1.CreateSessionRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getCreateSessionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Creates a session that is a copy of another one as of a point in its history, by default the present. It has the events up
     * to there, archived ones included, with their seqs, ids and times, the active window, the compactions and the session's state
     * as they were; reads as of an earlier moment answer what they answer for the parent. Events that were erased since are
     * tombstones outside its window. It has the owner of the parent, but not its compaction policy, consumers or operation ids.
     * Other calls continue while a long session is copied, and nobody sees a part of it. Both sessions are independent afterwards:
     * an erasure or a deletion concerns one of them.
     * Errors: SESSION_NOT_FOUND, AMBIGUOUS_SESSION, EVENT_NOT_FOUND, SESSION_ALREADY_EXISTS, HISTORY_UNKNOWN, OPERATION_CONFLICT,
     * QUOTA_EXCEEDED, INVALID_FIELD, STORE_UNAVAILABLE.
     * </pre>
     */
    public dev.threadkeep.v1.ForkSessionResponse forkSession(dev.threadkeep.v1.ForkSessionRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getForkSessionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Returns the metadata of a session.
     * Errors: SESSION_NOT_FOUND, AMBIGUOUS_SESSION.
     * </pre>
     */
    public dev.threadkeep.v1.GetSessionResponse getSession(dev.threadkeep.v1.GetSessionRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetSessionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists sessions, by default by create_time, newest first. The cost of a page does not depend on the number of sessions, but on
     * that of the sessions which conditions on labels, id or time pass over; by update_time, on that of those updated in the same
     * minute as one of the page.
     * Errors: INVALID_FIELD, INVALID_PAGE_TOKEN.
     * </pre>
     */
    public dev.threadkeep.v1.ListSessionsResponse listSessions(dev.threadkeep.v1.ListSessionsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListSessionsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists the users that have sessions, memories or state, those of an app one after another. The cost of a page grows with its
     * users, not with what they have.
     * Errors: INVALID_FIELD, INVALID_PAGE_TOKEN, PERMISSION_DENIED (the credential is bound to a user).
     * </pre>
     */
    public dev.threadkeep.v1.ListUsersResponse listUsers(dev.threadkeep.v1.ListUsersRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListUsersMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Updates the fields in the mask, or parts of the metadata and of the labels.
     * Errors: SESSION_NOT_FOUND, VERSION_MISMATCH (of the etag), OPERATION_CONFLICT, INVALID_FIELD.
     * </pre>
     */
    public dev.threadkeep.v1.UpdateSessionResponse updateSession(dev.threadkeep.v1.UpdateSessionRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getUpdateSessionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Gives a session to another user of its app, in one step. Its events, compactions, state, labels, policy and operation ids
     * stay as they are. Memories that came from it stay with the former owner, whose calls do not find it any more: an append
     * under the old name is either in the log before the move, or returns SESSION_NOT_FOUND; with create_if_missing it creates
     * another session. Subscriptions of the former owner receive MOVED_OUT in place of what they have not received yet; those of
     * the new owner receive MOVED_IN and what follows. SEMANTIC searches of the new owner find its events shortly after, once
     * the search index has followed; all others at once.
     * Errors: SESSION_NOT_FOUND, AMBIGUOUS_SESSION, SESSION_ALREADY_EXISTS, OPERATION_CONFLICT, INVALID_FIELD,
     * PERMISSION_DENIED (the credential is bound to a user).
     * </pre>
     */
    public dev.threadkeep.v1.MoveSessionResponse moveSession(dev.threadkeep.v1.MoveSessionRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getMoveSessionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Deletes a session and its events: no call returns them any more. The stored bytes of a session of more than 1,000 events are
     * removed shortly after. Succeeds if the session does not exist. The id can be used again; no tombstone is kept.
     * Errors: VERSION_MISMATCH (of the uid), AMBIGUOUS_SESSION, INVALID_FIELD, ARCHIVE_FAILED (with purge_memories: the session is
     * deleted, and its archives may be left; repeat the call).
     * </pre>
     */
    public dev.threadkeep.v1.DeleteSessionResponse deleteSession(dev.threadkeep.v1.DeleteSessionRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getDeleteSessionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Deletes sessions whose expire_time has passed, at most 1,000 per call. The server also deletes them automatically.
     * Errors: INVALID_FIELD, PERMISSION_DENIED.
     * </pre>
     */
    public dev.threadkeep.v1.DeleteExpiredSessionsResponse deleteExpiredSessions(dev.threadkeep.v1.DeleteExpiredSessionsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getDeleteExpiredSessionsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Deletes everything of a user: sessions, memories, compaction policies, archives of retention and, without an app, consumers.
     * What is added while the call runs stays. Returns after about 10 seconds if more is left: repeat the call until `more` is false. See
     * ErasureReceipt.
     * Errors: INVALID_FIELD, PERMISSION_DENIED, ARCHIVE_FAILED (archives may be left; repeat the call).
     * </pre>
     */
    public dev.threadkeep.v1.DeleteUserResponse deleteUser(dev.threadkeep.v1.DeleteUserRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getDeleteUserMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Deletes everything of an app: the sessions, memories and archives of all its users, and its compaction policies. Repeat the call
     * as for DeleteUser.
     * Errors: INVALID_FIELD, ARCHIVE_FAILED, PERMISSION_DENIED (the credential is bound to a user: use DeleteUser).
     * </pre>
     */
    public dev.threadkeep.v1.DeleteAppResponse deleteApp(dev.threadkeep.v1.DeleteAppRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getDeleteAppMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Deletes the sessions with labels and their archives, optionally with the memories that came from them. Repeat the call as for
     * DeleteUser.
     * Errors: INVALID_FIELD, PERMISSION_DENIED, ARCHIVE_FAILED.
     * </pre>
     */
    public dev.threadkeep.v1.DeleteByLabelResponse deleteByLabel(dev.threadkeep.v1.DeleteByLabelRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getDeleteByLabelMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service SessionService.
   * <pre>
   * Creates, reads, updates and deletes sessions, lists users, and erases everything of a user, of an app, or with labels.
   * </pre>
   */
  public static final class SessionServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<SessionServiceFutureStub> {
    private SessionServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected SessionServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new SessionServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * Creates a session.
     * Errors: SESSION_ALREADY_EXISTS (unless return_existing; always for a session of another user with unique_in_app),
     * INVALID_FIELD.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.threadkeep.v1.CreateSessionResponse> createSession(
        dev.threadkeep.v1.CreateSessionRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getCreateSessionMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Creates a session that is a copy of another one as of a point in its history, by default the present. It has the events up
     * to there, archived ones included, with their seqs, ids and times, the active window, the compactions and the session's state
     * as they were; reads as of an earlier moment answer what they answer for the parent. Events that were erased since are
     * tombstones outside its window. It has the owner of the parent, but not its compaction policy, consumers or operation ids.
     * Other calls continue while a long session is copied, and nobody sees a part of it. Both sessions are independent afterwards:
     * an erasure or a deletion concerns one of them.
     * Errors: SESSION_NOT_FOUND, AMBIGUOUS_SESSION, EVENT_NOT_FOUND, SESSION_ALREADY_EXISTS, HISTORY_UNKNOWN, OPERATION_CONFLICT,
     * QUOTA_EXCEEDED, INVALID_FIELD, STORE_UNAVAILABLE.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.threadkeep.v1.ForkSessionResponse> forkSession(
        dev.threadkeep.v1.ForkSessionRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getForkSessionMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Returns the metadata of a session.
     * Errors: SESSION_NOT_FOUND, AMBIGUOUS_SESSION.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.threadkeep.v1.GetSessionResponse> getSession(
        dev.threadkeep.v1.GetSessionRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetSessionMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Lists sessions, by default by create_time, newest first. The cost of a page does not depend on the number of sessions, but on
     * that of the sessions which conditions on labels, id or time pass over; by update_time, on that of those updated in the same
     * minute as one of the page.
     * Errors: INVALID_FIELD, INVALID_PAGE_TOKEN.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.threadkeep.v1.ListSessionsResponse> listSessions(
        dev.threadkeep.v1.ListSessionsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListSessionsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Lists the users that have sessions, memories or state, those of an app one after another. The cost of a page grows with its
     * users, not with what they have.
     * Errors: INVALID_FIELD, INVALID_PAGE_TOKEN, PERMISSION_DENIED (the credential is bound to a user).
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.threadkeep.v1.ListUsersResponse> listUsers(
        dev.threadkeep.v1.ListUsersRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListUsersMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Updates the fields in the mask, or parts of the metadata and of the labels.
     * Errors: SESSION_NOT_FOUND, VERSION_MISMATCH (of the etag), OPERATION_CONFLICT, INVALID_FIELD.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.threadkeep.v1.UpdateSessionResponse> updateSession(
        dev.threadkeep.v1.UpdateSessionRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getUpdateSessionMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Gives a session to another user of its app, in one step. Its events, compactions, state, labels, policy and operation ids
     * stay as they are. Memories that came from it stay with the former owner, whose calls do not find it any more: an append
     * under the old name is either in the log before the move, or returns SESSION_NOT_FOUND; with create_if_missing it creates
     * another session. Subscriptions of the former owner receive MOVED_OUT in place of what they have not received yet; those of
     * the new owner receive MOVED_IN and what follows. SEMANTIC searches of the new owner find its events shortly after, once
     * the search index has followed; all others at once.
     * Errors: SESSION_NOT_FOUND, AMBIGUOUS_SESSION, SESSION_ALREADY_EXISTS, OPERATION_CONFLICT, INVALID_FIELD,
     * PERMISSION_DENIED (the credential is bound to a user).
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.threadkeep.v1.MoveSessionResponse> moveSession(
        dev.threadkeep.v1.MoveSessionRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getMoveSessionMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Deletes a session and its events: no call returns them any more. The stored bytes of a session of more than 1,000 events are
     * removed shortly after. Succeeds if the session does not exist. The id can be used again; no tombstone is kept.
     * Errors: VERSION_MISMATCH (of the uid), AMBIGUOUS_SESSION, INVALID_FIELD, ARCHIVE_FAILED (with purge_memories: the session is
     * deleted, and its archives may be left; repeat the call).
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.threadkeep.v1.DeleteSessionResponse> deleteSession(
        dev.threadkeep.v1.DeleteSessionRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getDeleteSessionMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Deletes sessions whose expire_time has passed, at most 1,000 per call. The server also deletes them automatically.
     * Errors: INVALID_FIELD, PERMISSION_DENIED.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.threadkeep.v1.DeleteExpiredSessionsResponse> deleteExpiredSessions(
        dev.threadkeep.v1.DeleteExpiredSessionsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getDeleteExpiredSessionsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Deletes everything of a user: sessions, memories, compaction policies, archives of retention and, without an app, consumers.
     * What is added while the call runs stays. Returns after about 10 seconds if more is left: repeat the call until `more` is false. See
     * ErasureReceipt.
     * Errors: INVALID_FIELD, PERMISSION_DENIED, ARCHIVE_FAILED (archives may be left; repeat the call).
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.threadkeep.v1.DeleteUserResponse> deleteUser(
        dev.threadkeep.v1.DeleteUserRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getDeleteUserMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Deletes everything of an app: the sessions, memories and archives of all its users, and its compaction policies. Repeat the call
     * as for DeleteUser.
     * Errors: INVALID_FIELD, ARCHIVE_FAILED, PERMISSION_DENIED (the credential is bound to a user: use DeleteUser).
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.threadkeep.v1.DeleteAppResponse> deleteApp(
        dev.threadkeep.v1.DeleteAppRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getDeleteAppMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Deletes the sessions with labels and their archives, optionally with the memories that came from them. Repeat the call as for
     * DeleteUser.
     * Errors: INVALID_FIELD, PERMISSION_DENIED, ARCHIVE_FAILED.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.threadkeep.v1.DeleteByLabelResponse> deleteByLabel(
        dev.threadkeep.v1.DeleteByLabelRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getDeleteByLabelMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_CREATE_SESSION = 0;
  private static final int METHODID_FORK_SESSION = 1;
  private static final int METHODID_GET_SESSION = 2;
  private static final int METHODID_LIST_SESSIONS = 3;
  private static final int METHODID_LIST_USERS = 4;
  private static final int METHODID_UPDATE_SESSION = 5;
  private static final int METHODID_MOVE_SESSION = 6;
  private static final int METHODID_DELETE_SESSION = 7;
  private static final int METHODID_DELETE_EXPIRED_SESSIONS = 8;
  private static final int METHODID_DELETE_USER = 9;
  private static final int METHODID_DELETE_APP = 10;
  private static final int METHODID_DELETE_BY_LABEL = 11;

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
        case METHODID_CREATE_SESSION:
          serviceImpl.createSession((dev.threadkeep.v1.CreateSessionRequest) request,
              (io.grpc.stub.StreamObserver<dev.threadkeep.v1.CreateSessionResponse>) responseObserver);
          break;
        case METHODID_FORK_SESSION:
          serviceImpl.forkSession((dev.threadkeep.v1.ForkSessionRequest) request,
              (io.grpc.stub.StreamObserver<dev.threadkeep.v1.ForkSessionResponse>) responseObserver);
          break;
        case METHODID_GET_SESSION:
          serviceImpl.getSession((dev.threadkeep.v1.GetSessionRequest) request,
              (io.grpc.stub.StreamObserver<dev.threadkeep.v1.GetSessionResponse>) responseObserver);
          break;
        case METHODID_LIST_SESSIONS:
          serviceImpl.listSessions((dev.threadkeep.v1.ListSessionsRequest) request,
              (io.grpc.stub.StreamObserver<dev.threadkeep.v1.ListSessionsResponse>) responseObserver);
          break;
        case METHODID_LIST_USERS:
          serviceImpl.listUsers((dev.threadkeep.v1.ListUsersRequest) request,
              (io.grpc.stub.StreamObserver<dev.threadkeep.v1.ListUsersResponse>) responseObserver);
          break;
        case METHODID_UPDATE_SESSION:
          serviceImpl.updateSession((dev.threadkeep.v1.UpdateSessionRequest) request,
              (io.grpc.stub.StreamObserver<dev.threadkeep.v1.UpdateSessionResponse>) responseObserver);
          break;
        case METHODID_MOVE_SESSION:
          serviceImpl.moveSession((dev.threadkeep.v1.MoveSessionRequest) request,
              (io.grpc.stub.StreamObserver<dev.threadkeep.v1.MoveSessionResponse>) responseObserver);
          break;
        case METHODID_DELETE_SESSION:
          serviceImpl.deleteSession((dev.threadkeep.v1.DeleteSessionRequest) request,
              (io.grpc.stub.StreamObserver<dev.threadkeep.v1.DeleteSessionResponse>) responseObserver);
          break;
        case METHODID_DELETE_EXPIRED_SESSIONS:
          serviceImpl.deleteExpiredSessions((dev.threadkeep.v1.DeleteExpiredSessionsRequest) request,
              (io.grpc.stub.StreamObserver<dev.threadkeep.v1.DeleteExpiredSessionsResponse>) responseObserver);
          break;
        case METHODID_DELETE_USER:
          serviceImpl.deleteUser((dev.threadkeep.v1.DeleteUserRequest) request,
              (io.grpc.stub.StreamObserver<dev.threadkeep.v1.DeleteUserResponse>) responseObserver);
          break;
        case METHODID_DELETE_APP:
          serviceImpl.deleteApp((dev.threadkeep.v1.DeleteAppRequest) request,
              (io.grpc.stub.StreamObserver<dev.threadkeep.v1.DeleteAppResponse>) responseObserver);
          break;
        case METHODID_DELETE_BY_LABEL:
          serviceImpl.deleteByLabel((dev.threadkeep.v1.DeleteByLabelRequest) request,
              (io.grpc.stub.StreamObserver<dev.threadkeep.v1.DeleteByLabelResponse>) responseObserver);
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
          getCreateSessionMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.threadkeep.v1.CreateSessionRequest,
              dev.threadkeep.v1.CreateSessionResponse>(
                service, METHODID_CREATE_SESSION)))
        .addMethod(
          getForkSessionMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.threadkeep.v1.ForkSessionRequest,
              dev.threadkeep.v1.ForkSessionResponse>(
                service, METHODID_FORK_SESSION)))
        .addMethod(
          getGetSessionMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.threadkeep.v1.GetSessionRequest,
              dev.threadkeep.v1.GetSessionResponse>(
                service, METHODID_GET_SESSION)))
        .addMethod(
          getListSessionsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.threadkeep.v1.ListSessionsRequest,
              dev.threadkeep.v1.ListSessionsResponse>(
                service, METHODID_LIST_SESSIONS)))
        .addMethod(
          getListUsersMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.threadkeep.v1.ListUsersRequest,
              dev.threadkeep.v1.ListUsersResponse>(
                service, METHODID_LIST_USERS)))
        .addMethod(
          getUpdateSessionMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.threadkeep.v1.UpdateSessionRequest,
              dev.threadkeep.v1.UpdateSessionResponse>(
                service, METHODID_UPDATE_SESSION)))
        .addMethod(
          getMoveSessionMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.threadkeep.v1.MoveSessionRequest,
              dev.threadkeep.v1.MoveSessionResponse>(
                service, METHODID_MOVE_SESSION)))
        .addMethod(
          getDeleteSessionMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.threadkeep.v1.DeleteSessionRequest,
              dev.threadkeep.v1.DeleteSessionResponse>(
                service, METHODID_DELETE_SESSION)))
        .addMethod(
          getDeleteExpiredSessionsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.threadkeep.v1.DeleteExpiredSessionsRequest,
              dev.threadkeep.v1.DeleteExpiredSessionsResponse>(
                service, METHODID_DELETE_EXPIRED_SESSIONS)))
        .addMethod(
          getDeleteUserMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.threadkeep.v1.DeleteUserRequest,
              dev.threadkeep.v1.DeleteUserResponse>(
                service, METHODID_DELETE_USER)))
        .addMethod(
          getDeleteAppMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.threadkeep.v1.DeleteAppRequest,
              dev.threadkeep.v1.DeleteAppResponse>(
                service, METHODID_DELETE_APP)))
        .addMethod(
          getDeleteByLabelMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.threadkeep.v1.DeleteByLabelRequest,
              dev.threadkeep.v1.DeleteByLabelResponse>(
                service, METHODID_DELETE_BY_LABEL)))
        .build();
  }

  private static abstract class SessionServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    SessionServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return dev.threadkeep.v1.SessionServiceOuterClass.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("SessionService");
    }
  }

  private static final class SessionServiceFileDescriptorSupplier
      extends SessionServiceBaseDescriptorSupplier {
    SessionServiceFileDescriptorSupplier() {}
  }

  private static final class SessionServiceMethodDescriptorSupplier
      extends SessionServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    SessionServiceMethodDescriptorSupplier(java.lang.String methodName) {
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
      synchronized (SessionServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new SessionServiceFileDescriptorSupplier())
              .addMethod(getCreateSessionMethod())
              .addMethod(getForkSessionMethod())
              .addMethod(getGetSessionMethod())
              .addMethod(getListSessionsMethod())
              .addMethod(getListUsersMethod())
              .addMethod(getUpdateSessionMethod())
              .addMethod(getMoveSessionMethod())
              .addMethod(getDeleteSessionMethod())
              .addMethod(getDeleteExpiredSessionsMethod())
              .addMethod(getDeleteUserMethod())
              .addMethod(getDeleteAppMethod())
              .addMethod(getDeleteByLabelMethod())
              .build();
        }
      }
    }
    return result;
  }
}
