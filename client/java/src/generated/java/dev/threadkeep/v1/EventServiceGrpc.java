package dev.threadkeep.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * Appends and reads events.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class EventServiceGrpc {

  private EventServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "threadkeep.v1.EventService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<dev.threadkeep.v1.AppendEventsRequest,
      dev.threadkeep.v1.AppendEventsResponse> getAppendEventsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "AppendEvents",
      requestType = dev.threadkeep.v1.AppendEventsRequest.class,
      responseType = dev.threadkeep.v1.AppendEventsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.threadkeep.v1.AppendEventsRequest,
      dev.threadkeep.v1.AppendEventsResponse> getAppendEventsMethod() {
    io.grpc.MethodDescriptor<dev.threadkeep.v1.AppendEventsRequest, dev.threadkeep.v1.AppendEventsResponse> getAppendEventsMethod;
    if ((getAppendEventsMethod = EventServiceGrpc.getAppendEventsMethod) == null) {
      synchronized (EventServiceGrpc.class) {
        if ((getAppendEventsMethod = EventServiceGrpc.getAppendEventsMethod) == null) {
          EventServiceGrpc.getAppendEventsMethod = getAppendEventsMethod =
              io.grpc.MethodDescriptor.<dev.threadkeep.v1.AppendEventsRequest, dev.threadkeep.v1.AppendEventsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "AppendEvents"))
              .setIdempotent(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.AppendEventsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.AppendEventsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new EventServiceMethodDescriptorSupplier("AppendEvents"))
              .build();
        }
      }
    }
    return getAppendEventsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.threadkeep.v1.AppendStreamRequest,
      dev.threadkeep.v1.AppendStreamResponse> getAppendStreamMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "AppendStream",
      requestType = dev.threadkeep.v1.AppendStreamRequest.class,
      responseType = dev.threadkeep.v1.AppendStreamResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.BIDI_STREAMING)
  public static io.grpc.MethodDescriptor<dev.threadkeep.v1.AppendStreamRequest,
      dev.threadkeep.v1.AppendStreamResponse> getAppendStreamMethod() {
    io.grpc.MethodDescriptor<dev.threadkeep.v1.AppendStreamRequest, dev.threadkeep.v1.AppendStreamResponse> getAppendStreamMethod;
    if ((getAppendStreamMethod = EventServiceGrpc.getAppendStreamMethod) == null) {
      synchronized (EventServiceGrpc.class) {
        if ((getAppendStreamMethod = EventServiceGrpc.getAppendStreamMethod) == null) {
          EventServiceGrpc.getAppendStreamMethod = getAppendStreamMethod =
              io.grpc.MethodDescriptor.<dev.threadkeep.v1.AppendStreamRequest, dev.threadkeep.v1.AppendStreamResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.BIDI_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "AppendStream"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.AppendStreamRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.AppendStreamResponse.getDefaultInstance()))
              .setSchemaDescriptor(new EventServiceMethodDescriptorSupplier("AppendStream"))
              .build();
        }
      }
    }
    return getAppendStreamMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.threadkeep.v1.GetEventRequest,
      dev.threadkeep.v1.GetEventResponse> getGetEventMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetEvent",
      requestType = dev.threadkeep.v1.GetEventRequest.class,
      responseType = dev.threadkeep.v1.GetEventResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.threadkeep.v1.GetEventRequest,
      dev.threadkeep.v1.GetEventResponse> getGetEventMethod() {
    io.grpc.MethodDescriptor<dev.threadkeep.v1.GetEventRequest, dev.threadkeep.v1.GetEventResponse> getGetEventMethod;
    if ((getGetEventMethod = EventServiceGrpc.getGetEventMethod) == null) {
      synchronized (EventServiceGrpc.class) {
        if ((getGetEventMethod = EventServiceGrpc.getGetEventMethod) == null) {
          EventServiceGrpc.getGetEventMethod = getGetEventMethod =
              io.grpc.MethodDescriptor.<dev.threadkeep.v1.GetEventRequest, dev.threadkeep.v1.GetEventResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetEvent"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.GetEventRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.GetEventResponse.getDefaultInstance()))
              .setSchemaDescriptor(new EventServiceMethodDescriptorSupplier("GetEvent"))
              .build();
        }
      }
    }
    return getGetEventMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.threadkeep.v1.ListEventsRequest,
      dev.threadkeep.v1.ListEventsResponse> getListEventsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListEvents",
      requestType = dev.threadkeep.v1.ListEventsRequest.class,
      responseType = dev.threadkeep.v1.ListEventsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.threadkeep.v1.ListEventsRequest,
      dev.threadkeep.v1.ListEventsResponse> getListEventsMethod() {
    io.grpc.MethodDescriptor<dev.threadkeep.v1.ListEventsRequest, dev.threadkeep.v1.ListEventsResponse> getListEventsMethod;
    if ((getListEventsMethod = EventServiceGrpc.getListEventsMethod) == null) {
      synchronized (EventServiceGrpc.class) {
        if ((getListEventsMethod = EventServiceGrpc.getListEventsMethod) == null) {
          EventServiceGrpc.getListEventsMethod = getListEventsMethod =
              io.grpc.MethodDescriptor.<dev.threadkeep.v1.ListEventsRequest, dev.threadkeep.v1.ListEventsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListEvents"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.ListEventsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.ListEventsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new EventServiceMethodDescriptorSupplier("ListEvents"))
              .build();
        }
      }
    }
    return getListEventsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.threadkeep.v1.ListUserEventsRequest,
      dev.threadkeep.v1.ListUserEventsResponse> getListUserEventsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListUserEvents",
      requestType = dev.threadkeep.v1.ListUserEventsRequest.class,
      responseType = dev.threadkeep.v1.ListUserEventsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.threadkeep.v1.ListUserEventsRequest,
      dev.threadkeep.v1.ListUserEventsResponse> getListUserEventsMethod() {
    io.grpc.MethodDescriptor<dev.threadkeep.v1.ListUserEventsRequest, dev.threadkeep.v1.ListUserEventsResponse> getListUserEventsMethod;
    if ((getListUserEventsMethod = EventServiceGrpc.getListUserEventsMethod) == null) {
      synchronized (EventServiceGrpc.class) {
        if ((getListUserEventsMethod = EventServiceGrpc.getListUserEventsMethod) == null) {
          EventServiceGrpc.getListUserEventsMethod = getListUserEventsMethod =
              io.grpc.MethodDescriptor.<dev.threadkeep.v1.ListUserEventsRequest, dev.threadkeep.v1.ListUserEventsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListUserEvents"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.ListUserEventsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.ListUserEventsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new EventServiceMethodDescriptorSupplier("ListUserEvents"))
              .build();
        }
      }
    }
    return getListUserEventsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.threadkeep.v1.GetContextRequest,
      dev.threadkeep.v1.GetContextResponse> getGetContextMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetContext",
      requestType = dev.threadkeep.v1.GetContextRequest.class,
      responseType = dev.threadkeep.v1.GetContextResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.threadkeep.v1.GetContextRequest,
      dev.threadkeep.v1.GetContextResponse> getGetContextMethod() {
    io.grpc.MethodDescriptor<dev.threadkeep.v1.GetContextRequest, dev.threadkeep.v1.GetContextResponse> getGetContextMethod;
    if ((getGetContextMethod = EventServiceGrpc.getGetContextMethod) == null) {
      synchronized (EventServiceGrpc.class) {
        if ((getGetContextMethod = EventServiceGrpc.getGetContextMethod) == null) {
          EventServiceGrpc.getGetContextMethod = getGetContextMethod =
              io.grpc.MethodDescriptor.<dev.threadkeep.v1.GetContextRequest, dev.threadkeep.v1.GetContextResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetContext"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.GetContextRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.GetContextResponse.getDefaultInstance()))
              .setSchemaDescriptor(new EventServiceMethodDescriptorSupplier("GetContext"))
              .build();
        }
      }
    }
    return getGetContextMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.threadkeep.v1.LoadSessionRequest,
      dev.threadkeep.v1.LoadSessionResponse> getLoadSessionMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "LoadSession",
      requestType = dev.threadkeep.v1.LoadSessionRequest.class,
      responseType = dev.threadkeep.v1.LoadSessionResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.threadkeep.v1.LoadSessionRequest,
      dev.threadkeep.v1.LoadSessionResponse> getLoadSessionMethod() {
    io.grpc.MethodDescriptor<dev.threadkeep.v1.LoadSessionRequest, dev.threadkeep.v1.LoadSessionResponse> getLoadSessionMethod;
    if ((getLoadSessionMethod = EventServiceGrpc.getLoadSessionMethod) == null) {
      synchronized (EventServiceGrpc.class) {
        if ((getLoadSessionMethod = EventServiceGrpc.getLoadSessionMethod) == null) {
          EventServiceGrpc.getLoadSessionMethod = getLoadSessionMethod =
              io.grpc.MethodDescriptor.<dev.threadkeep.v1.LoadSessionRequest, dev.threadkeep.v1.LoadSessionResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "LoadSession"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.LoadSessionRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.LoadSessionResponse.getDefaultInstance()))
              .setSchemaDescriptor(new EventServiceMethodDescriptorSupplier("LoadSession"))
              .build();
        }
      }
    }
    return getLoadSessionMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.threadkeep.v1.ListBranchesRequest,
      dev.threadkeep.v1.ListBranchesResponse> getListBranchesMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListBranches",
      requestType = dev.threadkeep.v1.ListBranchesRequest.class,
      responseType = dev.threadkeep.v1.ListBranchesResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.threadkeep.v1.ListBranchesRequest,
      dev.threadkeep.v1.ListBranchesResponse> getListBranchesMethod() {
    io.grpc.MethodDescriptor<dev.threadkeep.v1.ListBranchesRequest, dev.threadkeep.v1.ListBranchesResponse> getListBranchesMethod;
    if ((getListBranchesMethod = EventServiceGrpc.getListBranchesMethod) == null) {
      synchronized (EventServiceGrpc.class) {
        if ((getListBranchesMethod = EventServiceGrpc.getListBranchesMethod) == null) {
          EventServiceGrpc.getListBranchesMethod = getListBranchesMethod =
              io.grpc.MethodDescriptor.<dev.threadkeep.v1.ListBranchesRequest, dev.threadkeep.v1.ListBranchesResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListBranches"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.ListBranchesRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.ListBranchesResponse.getDefaultInstance()))
              .setSchemaDescriptor(new EventServiceMethodDescriptorSupplier("ListBranches"))
              .build();
        }
      }
    }
    return getListBranchesMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.threadkeep.v1.ListUsageRequest,
      dev.threadkeep.v1.ListUsageResponse> getListUsageMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListUsage",
      requestType = dev.threadkeep.v1.ListUsageRequest.class,
      responseType = dev.threadkeep.v1.ListUsageResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.threadkeep.v1.ListUsageRequest,
      dev.threadkeep.v1.ListUsageResponse> getListUsageMethod() {
    io.grpc.MethodDescriptor<dev.threadkeep.v1.ListUsageRequest, dev.threadkeep.v1.ListUsageResponse> getListUsageMethod;
    if ((getListUsageMethod = EventServiceGrpc.getListUsageMethod) == null) {
      synchronized (EventServiceGrpc.class) {
        if ((getListUsageMethod = EventServiceGrpc.getListUsageMethod) == null) {
          EventServiceGrpc.getListUsageMethod = getListUsageMethod =
              io.grpc.MethodDescriptor.<dev.threadkeep.v1.ListUsageRequest, dev.threadkeep.v1.ListUsageResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListUsage"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.ListUsageRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.ListUsageResponse.getDefaultInstance()))
              .setSchemaDescriptor(new EventServiceMethodDescriptorSupplier("ListUsage"))
              .build();
        }
      }
    }
    return getListUsageMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.threadkeep.v1.PopEventsRequest,
      dev.threadkeep.v1.PopEventsResponse> getPopEventsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "PopEvents",
      requestType = dev.threadkeep.v1.PopEventsRequest.class,
      responseType = dev.threadkeep.v1.PopEventsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.threadkeep.v1.PopEventsRequest,
      dev.threadkeep.v1.PopEventsResponse> getPopEventsMethod() {
    io.grpc.MethodDescriptor<dev.threadkeep.v1.PopEventsRequest, dev.threadkeep.v1.PopEventsResponse> getPopEventsMethod;
    if ((getPopEventsMethod = EventServiceGrpc.getPopEventsMethod) == null) {
      synchronized (EventServiceGrpc.class) {
        if ((getPopEventsMethod = EventServiceGrpc.getPopEventsMethod) == null) {
          EventServiceGrpc.getPopEventsMethod = getPopEventsMethod =
              io.grpc.MethodDescriptor.<dev.threadkeep.v1.PopEventsRequest, dev.threadkeep.v1.PopEventsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "PopEvents"))
              .setIdempotent(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.PopEventsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.PopEventsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new EventServiceMethodDescriptorSupplier("PopEvents"))
              .build();
        }
      }
    }
    return getPopEventsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.threadkeep.v1.RewindSessionRequest,
      dev.threadkeep.v1.RewindSessionResponse> getRewindSessionMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "RewindSession",
      requestType = dev.threadkeep.v1.RewindSessionRequest.class,
      responseType = dev.threadkeep.v1.RewindSessionResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.threadkeep.v1.RewindSessionRequest,
      dev.threadkeep.v1.RewindSessionResponse> getRewindSessionMethod() {
    io.grpc.MethodDescriptor<dev.threadkeep.v1.RewindSessionRequest, dev.threadkeep.v1.RewindSessionResponse> getRewindSessionMethod;
    if ((getRewindSessionMethod = EventServiceGrpc.getRewindSessionMethod) == null) {
      synchronized (EventServiceGrpc.class) {
        if ((getRewindSessionMethod = EventServiceGrpc.getRewindSessionMethod) == null) {
          EventServiceGrpc.getRewindSessionMethod = getRewindSessionMethod =
              io.grpc.MethodDescriptor.<dev.threadkeep.v1.RewindSessionRequest, dev.threadkeep.v1.RewindSessionResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "RewindSession"))
              .setIdempotent(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.RewindSessionRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.RewindSessionResponse.getDefaultInstance()))
              .setSchemaDescriptor(new EventServiceMethodDescriptorSupplier("RewindSession"))
              .build();
        }
      }
    }
    return getRewindSessionMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.threadkeep.v1.ClearEventsRequest,
      dev.threadkeep.v1.ClearEventsResponse> getClearEventsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ClearEvents",
      requestType = dev.threadkeep.v1.ClearEventsRequest.class,
      responseType = dev.threadkeep.v1.ClearEventsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.threadkeep.v1.ClearEventsRequest,
      dev.threadkeep.v1.ClearEventsResponse> getClearEventsMethod() {
    io.grpc.MethodDescriptor<dev.threadkeep.v1.ClearEventsRequest, dev.threadkeep.v1.ClearEventsResponse> getClearEventsMethod;
    if ((getClearEventsMethod = EventServiceGrpc.getClearEventsMethod) == null) {
      synchronized (EventServiceGrpc.class) {
        if ((getClearEventsMethod = EventServiceGrpc.getClearEventsMethod) == null) {
          EventServiceGrpc.getClearEventsMethod = getClearEventsMethod =
              io.grpc.MethodDescriptor.<dev.threadkeep.v1.ClearEventsRequest, dev.threadkeep.v1.ClearEventsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ClearEvents"))
              .setIdempotent(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.ClearEventsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.ClearEventsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new EventServiceMethodDescriptorSupplier("ClearEvents"))
              .build();
        }
      }
    }
    return getClearEventsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.threadkeep.v1.EraseEventsRequest,
      dev.threadkeep.v1.EraseEventsResponse> getEraseEventsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "EraseEvents",
      requestType = dev.threadkeep.v1.EraseEventsRequest.class,
      responseType = dev.threadkeep.v1.EraseEventsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.threadkeep.v1.EraseEventsRequest,
      dev.threadkeep.v1.EraseEventsResponse> getEraseEventsMethod() {
    io.grpc.MethodDescriptor<dev.threadkeep.v1.EraseEventsRequest, dev.threadkeep.v1.EraseEventsResponse> getEraseEventsMethod;
    if ((getEraseEventsMethod = EventServiceGrpc.getEraseEventsMethod) == null) {
      synchronized (EventServiceGrpc.class) {
        if ((getEraseEventsMethod = EventServiceGrpc.getEraseEventsMethod) == null) {
          EventServiceGrpc.getEraseEventsMethod = getEraseEventsMethod =
              io.grpc.MethodDescriptor.<dev.threadkeep.v1.EraseEventsRequest, dev.threadkeep.v1.EraseEventsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "EraseEvents"))
              .setIdempotent(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.EraseEventsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.EraseEventsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new EventServiceMethodDescriptorSupplier("EraseEvents"))
              .build();
        }
      }
    }
    return getEraseEventsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.threadkeep.v1.ReplaceSuffixRequest,
      dev.threadkeep.v1.ReplaceSuffixResponse> getReplaceSuffixMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ReplaceSuffix",
      requestType = dev.threadkeep.v1.ReplaceSuffixRequest.class,
      responseType = dev.threadkeep.v1.ReplaceSuffixResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.threadkeep.v1.ReplaceSuffixRequest,
      dev.threadkeep.v1.ReplaceSuffixResponse> getReplaceSuffixMethod() {
    io.grpc.MethodDescriptor<dev.threadkeep.v1.ReplaceSuffixRequest, dev.threadkeep.v1.ReplaceSuffixResponse> getReplaceSuffixMethod;
    if ((getReplaceSuffixMethod = EventServiceGrpc.getReplaceSuffixMethod) == null) {
      synchronized (EventServiceGrpc.class) {
        if ((getReplaceSuffixMethod = EventServiceGrpc.getReplaceSuffixMethod) == null) {
          EventServiceGrpc.getReplaceSuffixMethod = getReplaceSuffixMethod =
              io.grpc.MethodDescriptor.<dev.threadkeep.v1.ReplaceSuffixRequest, dev.threadkeep.v1.ReplaceSuffixResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ReplaceSuffix"))
              .setIdempotent(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.ReplaceSuffixRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.threadkeep.v1.ReplaceSuffixResponse.getDefaultInstance()))
              .setSchemaDescriptor(new EventServiceMethodDescriptorSupplier("ReplaceSuffix"))
              .build();
        }
      }
    }
    return getReplaceSuffixMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static EventServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<EventServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<EventServiceStub>() {
        @java.lang.Override
        public EventServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new EventServiceStub(channel, callOptions);
        }
      };
    return EventServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports all types of calls on the service
   */
  public static EventServiceBlockingV2Stub newBlockingV2Stub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<EventServiceBlockingV2Stub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<EventServiceBlockingV2Stub>() {
        @java.lang.Override
        public EventServiceBlockingV2Stub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new EventServiceBlockingV2Stub(channel, callOptions);
        }
      };
    return EventServiceBlockingV2Stub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static EventServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<EventServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<EventServiceBlockingStub>() {
        @java.lang.Override
        public EventServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new EventServiceBlockingStub(channel, callOptions);
        }
      };
    return EventServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static EventServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<EventServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<EventServiceFutureStub>() {
        @java.lang.Override
        public EventServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new EventServiceFutureStub(channel, callOptions);
        }
      };
    return EventServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * Appends and reads events.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * Appends one or more events, all or none. When it returns, the events are committed to durable storage. A retry with
     * the same event ids stores nothing twice and returns the original seqs.
     * Errors: SESSION_NOT_FOUND, VERSION_MISMATCH, EVENT_ID_CONFLICT, OPERATION_CONFLICT, EVENT_TOO_LARGE, BATCH_TOO_LARGE,
     * STATE_TOO_LARGE,
     * INVALID_FIELD, STORE_UNAVAILABLE.
     * </pre>
     */
    default void appendEvents(dev.threadkeep.v1.AppendEventsRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.AppendEventsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getAppendEventsMethod(), responseObserver);
    }

    /**
     * <pre>
     * Appends a stream of batches without waiting for each response. Each request is one atomic append. Results are
     * returned in request order, several per response. A batch that fails is reported in its result and does not end the
     * stream. A server that shuts down ends it with SERVER_DRAINING after the results of the requests that it has read.
     * </pre>
     */
    default io.grpc.stub.StreamObserver<dev.threadkeep.v1.AppendStreamRequest> appendStream(
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.AppendStreamResponse> responseObserver) {
      return io.grpc.stub.ServerCalls.asyncUnimplementedStreamingCall(getAppendStreamMethod(), responseObserver);
    }

    /**
     * <pre>
     * Returns an event by its id.
     * Errors: SESSION_NOT_FOUND, EVENT_NOT_FOUND.
     * </pre>
     */
    default void getEvent(dev.threadkeep.v1.GetEventRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.GetEventResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetEventMethod(), responseObserver);
    }

    /**
     * <pre>
     * Lists the events that match a filter, in window order. An unknown session returns an empty list.
     * Errors: INVALID_FIELD, INVALID_PAGE_TOKEN, AMBIGUOUS_SESSION, HISTORY_UNKNOWN.
     * </pre>
     */
    default void listEvents(dev.threadkeep.v1.ListEventsRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.ListEventsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListEventsMethod(), responseObserver);
    }

    /**
     * <pre>
     * Lists the events of a user that match a filter, of all sessions: session by session in the order of their creation, and in
     * each in window order. The cost of a page does not depend on the number of events, but on that of the sessions without a match
     * that it passes over, of which a page has at most 100.
     * Errors: INVALID_FIELD, INVALID_PAGE_TOKEN.
     * </pre>
     */
    default void listUserEvents(dev.threadkeep.v1.ListUserEventsRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.ListUserEventsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListUserEventsMethod(), responseObserver);
    }

    /**
     * <pre>
     * Returns the context of an agent: whole turns of the active window within a budget, preceded by the latest SYSTEM
     * event and the summaries. The cost is one indexed read, independent of the length of the log. An unknown session
     * returns an empty context.
     * Errors: INVALID_FIELD, AMBIGUOUS_SESSION, HISTORY_UNKNOWN.
     * </pre>
     */
    default void getContext(dev.threadkeep.v1.GetContextRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.GetContextResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetContextMethod(), responseObserver);
    }

    /**
     * <pre>
     * Returns a session, its state, its newest event, and a page of its events or a context, all as of one moment: what GetSession,
     * GetState, and ListEvents or GetContext return if nothing happens between them. The cost is that of these calls.
     * Errors: SESSION_NOT_FOUND, AMBIGUOUS_SESSION, INVALID_FIELD, PERMISSION_DENIED.
     * </pre>
     */
    default void loadSession(dev.threadkeep.v1.LoadSessionRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.LoadSessionResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getLoadSessionMethod(), responseObserver);
    }

    /**
     * <pre>
     * Lists the branches of a session, the root first, then in the order of the UTF-8 bytes of their names. The cost of a page grows
     * with its branches and, up to 10,000 each, their events; that of the first page, up to 100,000, with the events on branches.
     * Errors: SESSION_NOT_FOUND, AMBIGUOUS_SESSION, INVALID_FIELD, INVALID_PAGE_TOKEN.
     * </pre>
     */
    default void listBranches(dev.threadkeep.v1.ListBranchesRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.ListBranchesResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListBranchesMethod(), responseObserver);
    }

    /**
     * <pre>
     * Sums the token usage of events by turn, invocation and branch. It reads the log page by page, so a group may be in several
     * pages: its sum is that of its parts.
     * Errors: SESSION_NOT_FOUND, AMBIGUOUS_SESSION, INVALID_FIELD, INVALID_PAGE_TOKEN.
     * </pre>
     */
    default void listUsage(dev.threadkeep.v1.ListUsageRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.ListUsageResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListUsageMethod(), responseObserver);
    }

    /**
     * <pre>
     * Takes the newest events out of the active window and returns them: an atomic claim, so that of concurrent callers each
     * event is returned to one. May part a tool call from its result; contexts leave out a result without its call. Seqs are
     * not reused, and the feed reports the removal.
     * Errors: SESSION_NOT_FOUND, VERSION_MISMATCH, OPERATION_CONFLICT, INVALID_FIELD, PERMISSION_DENIED, STORE_UNAVAILABLE.
     * </pre>
     */
    default void popEvents(dev.threadkeep.v1.PopEventsRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.PopEventsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getPopEventsMethod(), responseObserver);
    }

    /**
     * <pre>
     * Goes back to an earlier point: events after it leave the active window, events that left it since are active again, unless
     * they were erased, and the session's state has the values of then. One change of the log, which the feed reports as a removal
     * and, if the state changed, a change of state. At most 10,000 events leave or come back: INVALID_FIELD is returned for a
     * point that is further back; ForkSession has no such limit.
     * Errors: SESSION_NOT_FOUND, EVENT_NOT_FOUND, VERSION_MISMATCH, OPERATION_CONFLICT, HISTORY_UNKNOWN, INVALID_FIELD,
     * PERMISSION_DENIED, STORE_UNAVAILABLE.
     * </pre>
     */
    default void rewindSession(dev.threadkeep.v1.RewindSessionRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.RewindSessionResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getRewindSessionMethod(), responseObserver);
    }

    /**
     * <pre>
     * Empties the active window. The session stays, with its labels, metadata, policy and watchers, and the log continues
     * with the next seq.
     * Errors: SESSION_NOT_FOUND, VERSION_MISMATCH, OPERATION_CONFLICT, INVALID_FIELD, PERMISSION_DENIED, STORE_UNAVAILABLE.
     * </pre>
     */
    default void clearEvents(dev.threadkeep.v1.ClearEventsRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.ClearEventsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getClearEventsMethod(), responseObserver);
    }

    /**
     * <pre>
     * Erases the content of events, active or archived: by id, or those of invocations or of a branch. Tombstones stay: id, seq,
     * times, role and branch. Summaries and memories that were made of the events stay as they are.
     * Errors: SESSION_NOT_FOUND, EVENT_NOT_FOUND, VERSION_MISMATCH, OPERATION_CONFLICT, INVALID_FIELD, STORE_UNAVAILABLE.
     * </pre>
     */
    default void eraseEvents(dev.threadkeep.v1.EraseEventsRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.EraseEventsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getEraseEventsMethod(), responseObserver);
    }

    /**
     * <pre>
     * Replaces the newest events of the active window with others if these are exactly the expected ones: compare and swap.
     * Otherwise nothing changes.
     * Errors: SESSION_NOT_FOUND, VERSION_MISMATCH, EVENT_ID_CONFLICT, OPERATION_CONFLICT, EVENT_TOO_LARGE, BATCH_TOO_LARGE,
     * INVALID_FIELD, PERMISSION_DENIED, STORE_UNAVAILABLE.
     * </pre>
     */
    default void replaceSuffix(dev.threadkeep.v1.ReplaceSuffixRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.ReplaceSuffixResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getReplaceSuffixMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service EventService.
   * <pre>
   * Appends and reads events.
   * </pre>
   */
  public static abstract class EventServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return EventServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service EventService.
   * <pre>
   * Appends and reads events.
   * </pre>
   */
  public static final class EventServiceStub
      extends io.grpc.stub.AbstractAsyncStub<EventServiceStub> {
    private EventServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected EventServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new EventServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * Appends one or more events, all or none. When it returns, the events are committed to durable storage. A retry with
     * the same event ids stores nothing twice and returns the original seqs.
     * Errors: SESSION_NOT_FOUND, VERSION_MISMATCH, EVENT_ID_CONFLICT, OPERATION_CONFLICT, EVENT_TOO_LARGE, BATCH_TOO_LARGE,
     * STATE_TOO_LARGE,
     * INVALID_FIELD, STORE_UNAVAILABLE.
     * </pre>
     */
    public void appendEvents(dev.threadkeep.v1.AppendEventsRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.AppendEventsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getAppendEventsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Appends a stream of batches without waiting for each response. Each request is one atomic append. Results are
     * returned in request order, several per response. A batch that fails is reported in its result and does not end the
     * stream. A server that shuts down ends it with SERVER_DRAINING after the results of the requests that it has read.
     * </pre>
     */
    public io.grpc.stub.StreamObserver<dev.threadkeep.v1.AppendStreamRequest> appendStream(
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.AppendStreamResponse> responseObserver) {
      return io.grpc.stub.ClientCalls.asyncBidiStreamingCall(
          getChannel().newCall(getAppendStreamMethod(), getCallOptions()), responseObserver);
    }

    /**
     * <pre>
     * Returns an event by its id.
     * Errors: SESSION_NOT_FOUND, EVENT_NOT_FOUND.
     * </pre>
     */
    public void getEvent(dev.threadkeep.v1.GetEventRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.GetEventResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetEventMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Lists the events that match a filter, in window order. An unknown session returns an empty list.
     * Errors: INVALID_FIELD, INVALID_PAGE_TOKEN, AMBIGUOUS_SESSION, HISTORY_UNKNOWN.
     * </pre>
     */
    public void listEvents(dev.threadkeep.v1.ListEventsRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.ListEventsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListEventsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Lists the events of a user that match a filter, of all sessions: session by session in the order of their creation, and in
     * each in window order. The cost of a page does not depend on the number of events, but on that of the sessions without a match
     * that it passes over, of which a page has at most 100.
     * Errors: INVALID_FIELD, INVALID_PAGE_TOKEN.
     * </pre>
     */
    public void listUserEvents(dev.threadkeep.v1.ListUserEventsRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.ListUserEventsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListUserEventsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Returns the context of an agent: whole turns of the active window within a budget, preceded by the latest SYSTEM
     * event and the summaries. The cost is one indexed read, independent of the length of the log. An unknown session
     * returns an empty context.
     * Errors: INVALID_FIELD, AMBIGUOUS_SESSION, HISTORY_UNKNOWN.
     * </pre>
     */
    public void getContext(dev.threadkeep.v1.GetContextRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.GetContextResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetContextMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Returns a session, its state, its newest event, and a page of its events or a context, all as of one moment: what GetSession,
     * GetState, and ListEvents or GetContext return if nothing happens between them. The cost is that of these calls.
     * Errors: SESSION_NOT_FOUND, AMBIGUOUS_SESSION, INVALID_FIELD, PERMISSION_DENIED.
     * </pre>
     */
    public void loadSession(dev.threadkeep.v1.LoadSessionRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.LoadSessionResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getLoadSessionMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Lists the branches of a session, the root first, then in the order of the UTF-8 bytes of their names. The cost of a page grows
     * with its branches and, up to 10,000 each, their events; that of the first page, up to 100,000, with the events on branches.
     * Errors: SESSION_NOT_FOUND, AMBIGUOUS_SESSION, INVALID_FIELD, INVALID_PAGE_TOKEN.
     * </pre>
     */
    public void listBranches(dev.threadkeep.v1.ListBranchesRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.ListBranchesResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListBranchesMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Sums the token usage of events by turn, invocation and branch. It reads the log page by page, so a group may be in several
     * pages: its sum is that of its parts.
     * Errors: SESSION_NOT_FOUND, AMBIGUOUS_SESSION, INVALID_FIELD, INVALID_PAGE_TOKEN.
     * </pre>
     */
    public void listUsage(dev.threadkeep.v1.ListUsageRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.ListUsageResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListUsageMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Takes the newest events out of the active window and returns them: an atomic claim, so that of concurrent callers each
     * event is returned to one. May part a tool call from its result; contexts leave out a result without its call. Seqs are
     * not reused, and the feed reports the removal.
     * Errors: SESSION_NOT_FOUND, VERSION_MISMATCH, OPERATION_CONFLICT, INVALID_FIELD, PERMISSION_DENIED, STORE_UNAVAILABLE.
     * </pre>
     */
    public void popEvents(dev.threadkeep.v1.PopEventsRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.PopEventsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getPopEventsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Goes back to an earlier point: events after it leave the active window, events that left it since are active again, unless
     * they were erased, and the session's state has the values of then. One change of the log, which the feed reports as a removal
     * and, if the state changed, a change of state. At most 10,000 events leave or come back: INVALID_FIELD is returned for a
     * point that is further back; ForkSession has no such limit.
     * Errors: SESSION_NOT_FOUND, EVENT_NOT_FOUND, VERSION_MISMATCH, OPERATION_CONFLICT, HISTORY_UNKNOWN, INVALID_FIELD,
     * PERMISSION_DENIED, STORE_UNAVAILABLE.
     * </pre>
     */
    public void rewindSession(dev.threadkeep.v1.RewindSessionRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.RewindSessionResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getRewindSessionMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Empties the active window. The session stays, with its labels, metadata, policy and watchers, and the log continues
     * with the next seq.
     * Errors: SESSION_NOT_FOUND, VERSION_MISMATCH, OPERATION_CONFLICT, INVALID_FIELD, PERMISSION_DENIED, STORE_UNAVAILABLE.
     * </pre>
     */
    public void clearEvents(dev.threadkeep.v1.ClearEventsRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.ClearEventsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getClearEventsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Erases the content of events, active or archived: by id, or those of invocations or of a branch. Tombstones stay: id, seq,
     * times, role and branch. Summaries and memories that were made of the events stay as they are.
     * Errors: SESSION_NOT_FOUND, EVENT_NOT_FOUND, VERSION_MISMATCH, OPERATION_CONFLICT, INVALID_FIELD, STORE_UNAVAILABLE.
     * </pre>
     */
    public void eraseEvents(dev.threadkeep.v1.EraseEventsRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.EraseEventsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getEraseEventsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Replaces the newest events of the active window with others if these are exactly the expected ones: compare and swap.
     * Otherwise nothing changes.
     * Errors: SESSION_NOT_FOUND, VERSION_MISMATCH, EVENT_ID_CONFLICT, OPERATION_CONFLICT, EVENT_TOO_LARGE, BATCH_TOO_LARGE,
     * INVALID_FIELD, PERMISSION_DENIED, STORE_UNAVAILABLE.
     * </pre>
     */
    public void replaceSuffix(dev.threadkeep.v1.ReplaceSuffixRequest request,
        io.grpc.stub.StreamObserver<dev.threadkeep.v1.ReplaceSuffixResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getReplaceSuffixMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service EventService.
   * <pre>
   * Appends and reads events.
   * </pre>
   */
  public static final class EventServiceBlockingV2Stub
      extends io.grpc.stub.AbstractBlockingStub<EventServiceBlockingV2Stub> {
    private EventServiceBlockingV2Stub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected EventServiceBlockingV2Stub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new EventServiceBlockingV2Stub(channel, callOptions);
    }

    /**
     * <pre>
     * Appends one or more events, all or none. When it returns, the events are committed to durable storage. A retry with
     * the same event ids stores nothing twice and returns the original seqs.
     * Errors: SESSION_NOT_FOUND, VERSION_MISMATCH, EVENT_ID_CONFLICT, OPERATION_CONFLICT, EVENT_TOO_LARGE, BATCH_TOO_LARGE,
     * STATE_TOO_LARGE,
     * INVALID_FIELD, STORE_UNAVAILABLE.
     * </pre>
     */
    public dev.threadkeep.v1.AppendEventsResponse appendEvents(dev.threadkeep.v1.AppendEventsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getAppendEventsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Appends a stream of batches without waiting for each response. Each request is one atomic append. Results are
     * returned in request order, several per response. A batch that fails is reported in its result and does not end the
     * stream. A server that shuts down ends it with SERVER_DRAINING after the results of the requests that it has read.
     * </pre>
     */
    @io.grpc.ExperimentalApi("https://github.com/grpc/grpc-java/issues/10918")
    public io.grpc.stub.BlockingClientCall<dev.threadkeep.v1.AppendStreamRequest, dev.threadkeep.v1.AppendStreamResponse>
        appendStream() {
      return io.grpc.stub.ClientCalls.blockingBidiStreamingCall(
          getChannel(), getAppendStreamMethod(), getCallOptions());
    }

    /**
     * <pre>
     * Returns an event by its id.
     * Errors: SESSION_NOT_FOUND, EVENT_NOT_FOUND.
     * </pre>
     */
    public dev.threadkeep.v1.GetEventResponse getEvent(dev.threadkeep.v1.GetEventRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetEventMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists the events that match a filter, in window order. An unknown session returns an empty list.
     * Errors: INVALID_FIELD, INVALID_PAGE_TOKEN, AMBIGUOUS_SESSION, HISTORY_UNKNOWN.
     * </pre>
     */
    public dev.threadkeep.v1.ListEventsResponse listEvents(dev.threadkeep.v1.ListEventsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListEventsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists the events of a user that match a filter, of all sessions: session by session in the order of their creation, and in
     * each in window order. The cost of a page does not depend on the number of events, but on that of the sessions without a match
     * that it passes over, of which a page has at most 100.
     * Errors: INVALID_FIELD, INVALID_PAGE_TOKEN.
     * </pre>
     */
    public dev.threadkeep.v1.ListUserEventsResponse listUserEvents(dev.threadkeep.v1.ListUserEventsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListUserEventsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Returns the context of an agent: whole turns of the active window within a budget, preceded by the latest SYSTEM
     * event and the summaries. The cost is one indexed read, independent of the length of the log. An unknown session
     * returns an empty context.
     * Errors: INVALID_FIELD, AMBIGUOUS_SESSION, HISTORY_UNKNOWN.
     * </pre>
     */
    public dev.threadkeep.v1.GetContextResponse getContext(dev.threadkeep.v1.GetContextRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetContextMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Returns a session, its state, its newest event, and a page of its events or a context, all as of one moment: what GetSession,
     * GetState, and ListEvents or GetContext return if nothing happens between them. The cost is that of these calls.
     * Errors: SESSION_NOT_FOUND, AMBIGUOUS_SESSION, INVALID_FIELD, PERMISSION_DENIED.
     * </pre>
     */
    public dev.threadkeep.v1.LoadSessionResponse loadSession(dev.threadkeep.v1.LoadSessionRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getLoadSessionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists the branches of a session, the root first, then in the order of the UTF-8 bytes of their names. The cost of a page grows
     * with its branches and, up to 10,000 each, their events; that of the first page, up to 100,000, with the events on branches.
     * Errors: SESSION_NOT_FOUND, AMBIGUOUS_SESSION, INVALID_FIELD, INVALID_PAGE_TOKEN.
     * </pre>
     */
    public dev.threadkeep.v1.ListBranchesResponse listBranches(dev.threadkeep.v1.ListBranchesRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListBranchesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Sums the token usage of events by turn, invocation and branch. It reads the log page by page, so a group may be in several
     * pages: its sum is that of its parts.
     * Errors: SESSION_NOT_FOUND, AMBIGUOUS_SESSION, INVALID_FIELD, INVALID_PAGE_TOKEN.
     * </pre>
     */
    public dev.threadkeep.v1.ListUsageResponse listUsage(dev.threadkeep.v1.ListUsageRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListUsageMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Takes the newest events out of the active window and returns them: an atomic claim, so that of concurrent callers each
     * event is returned to one. May part a tool call from its result; contexts leave out a result without its call. Seqs are
     * not reused, and the feed reports the removal.
     * Errors: SESSION_NOT_FOUND, VERSION_MISMATCH, OPERATION_CONFLICT, INVALID_FIELD, PERMISSION_DENIED, STORE_UNAVAILABLE.
     * </pre>
     */
    public dev.threadkeep.v1.PopEventsResponse popEvents(dev.threadkeep.v1.PopEventsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getPopEventsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Goes back to an earlier point: events after it leave the active window, events that left it since are active again, unless
     * they were erased, and the session's state has the values of then. One change of the log, which the feed reports as a removal
     * and, if the state changed, a change of state. At most 10,000 events leave or come back: INVALID_FIELD is returned for a
     * point that is further back; ForkSession has no such limit.
     * Errors: SESSION_NOT_FOUND, EVENT_NOT_FOUND, VERSION_MISMATCH, OPERATION_CONFLICT, HISTORY_UNKNOWN, INVALID_FIELD,
     * PERMISSION_DENIED, STORE_UNAVAILABLE.
     * </pre>
     */
    public dev.threadkeep.v1.RewindSessionResponse rewindSession(dev.threadkeep.v1.RewindSessionRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getRewindSessionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Empties the active window. The session stays, with its labels, metadata, policy and watchers, and the log continues
     * with the next seq.
     * Errors: SESSION_NOT_FOUND, VERSION_MISMATCH, OPERATION_CONFLICT, INVALID_FIELD, PERMISSION_DENIED, STORE_UNAVAILABLE.
     * </pre>
     */
    public dev.threadkeep.v1.ClearEventsResponse clearEvents(dev.threadkeep.v1.ClearEventsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getClearEventsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Erases the content of events, active or archived: by id, or those of invocations or of a branch. Tombstones stay: id, seq,
     * times, role and branch. Summaries and memories that were made of the events stay as they are.
     * Errors: SESSION_NOT_FOUND, EVENT_NOT_FOUND, VERSION_MISMATCH, OPERATION_CONFLICT, INVALID_FIELD, STORE_UNAVAILABLE.
     * </pre>
     */
    public dev.threadkeep.v1.EraseEventsResponse eraseEvents(dev.threadkeep.v1.EraseEventsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getEraseEventsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Replaces the newest events of the active window with others if these are exactly the expected ones: compare and swap.
     * Otherwise nothing changes.
     * Errors: SESSION_NOT_FOUND, VERSION_MISMATCH, EVENT_ID_CONFLICT, OPERATION_CONFLICT, EVENT_TOO_LARGE, BATCH_TOO_LARGE,
     * INVALID_FIELD, PERMISSION_DENIED, STORE_UNAVAILABLE.
     * </pre>
     */
    public dev.threadkeep.v1.ReplaceSuffixResponse replaceSuffix(dev.threadkeep.v1.ReplaceSuffixRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getReplaceSuffixMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do limited synchronous rpc calls to service EventService.
   * <pre>
   * Appends and reads events.
   * </pre>
   */
  public static final class EventServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<EventServiceBlockingStub> {
    private EventServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected EventServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new EventServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * Appends one or more events, all or none. When it returns, the events are committed to durable storage. A retry with
     * the same event ids stores nothing twice and returns the original seqs.
     * Errors: SESSION_NOT_FOUND, VERSION_MISMATCH, EVENT_ID_CONFLICT, OPERATION_CONFLICT, EVENT_TOO_LARGE, BATCH_TOO_LARGE,
     * STATE_TOO_LARGE,
     * INVALID_FIELD, STORE_UNAVAILABLE.
     * </pre>
     */
    public dev.threadkeep.v1.AppendEventsResponse appendEvents(dev.threadkeep.v1.AppendEventsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getAppendEventsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Returns an event by its id.
     * Errors: SESSION_NOT_FOUND, EVENT_NOT_FOUND.
     * </pre>
     */
    public dev.threadkeep.v1.GetEventResponse getEvent(dev.threadkeep.v1.GetEventRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetEventMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists the events that match a filter, in window order. An unknown session returns an empty list.
     * Errors: INVALID_FIELD, INVALID_PAGE_TOKEN, AMBIGUOUS_SESSION, HISTORY_UNKNOWN.
     * </pre>
     */
    public dev.threadkeep.v1.ListEventsResponse listEvents(dev.threadkeep.v1.ListEventsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListEventsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists the events of a user that match a filter, of all sessions: session by session in the order of their creation, and in
     * each in window order. The cost of a page does not depend on the number of events, but on that of the sessions without a match
     * that it passes over, of which a page has at most 100.
     * Errors: INVALID_FIELD, INVALID_PAGE_TOKEN.
     * </pre>
     */
    public dev.threadkeep.v1.ListUserEventsResponse listUserEvents(dev.threadkeep.v1.ListUserEventsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListUserEventsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Returns the context of an agent: whole turns of the active window within a budget, preceded by the latest SYSTEM
     * event and the summaries. The cost is one indexed read, independent of the length of the log. An unknown session
     * returns an empty context.
     * Errors: INVALID_FIELD, AMBIGUOUS_SESSION, HISTORY_UNKNOWN.
     * </pre>
     */
    public dev.threadkeep.v1.GetContextResponse getContext(dev.threadkeep.v1.GetContextRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetContextMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Returns a session, its state, its newest event, and a page of its events or a context, all as of one moment: what GetSession,
     * GetState, and ListEvents or GetContext return if nothing happens between them. The cost is that of these calls.
     * Errors: SESSION_NOT_FOUND, AMBIGUOUS_SESSION, INVALID_FIELD, PERMISSION_DENIED.
     * </pre>
     */
    public dev.threadkeep.v1.LoadSessionResponse loadSession(dev.threadkeep.v1.LoadSessionRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getLoadSessionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists the branches of a session, the root first, then in the order of the UTF-8 bytes of their names. The cost of a page grows
     * with its branches and, up to 10,000 each, their events; that of the first page, up to 100,000, with the events on branches.
     * Errors: SESSION_NOT_FOUND, AMBIGUOUS_SESSION, INVALID_FIELD, INVALID_PAGE_TOKEN.
     * </pre>
     */
    public dev.threadkeep.v1.ListBranchesResponse listBranches(dev.threadkeep.v1.ListBranchesRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListBranchesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Sums the token usage of events by turn, invocation and branch. It reads the log page by page, so a group may be in several
     * pages: its sum is that of its parts.
     * Errors: SESSION_NOT_FOUND, AMBIGUOUS_SESSION, INVALID_FIELD, INVALID_PAGE_TOKEN.
     * </pre>
     */
    public dev.threadkeep.v1.ListUsageResponse listUsage(dev.threadkeep.v1.ListUsageRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListUsageMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Takes the newest events out of the active window and returns them: an atomic claim, so that of concurrent callers each
     * event is returned to one. May part a tool call from its result; contexts leave out a result without its call. Seqs are
     * not reused, and the feed reports the removal.
     * Errors: SESSION_NOT_FOUND, VERSION_MISMATCH, OPERATION_CONFLICT, INVALID_FIELD, PERMISSION_DENIED, STORE_UNAVAILABLE.
     * </pre>
     */
    public dev.threadkeep.v1.PopEventsResponse popEvents(dev.threadkeep.v1.PopEventsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getPopEventsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Goes back to an earlier point: events after it leave the active window, events that left it since are active again, unless
     * they were erased, and the session's state has the values of then. One change of the log, which the feed reports as a removal
     * and, if the state changed, a change of state. At most 10,000 events leave or come back: INVALID_FIELD is returned for a
     * point that is further back; ForkSession has no such limit.
     * Errors: SESSION_NOT_FOUND, EVENT_NOT_FOUND, VERSION_MISMATCH, OPERATION_CONFLICT, HISTORY_UNKNOWN, INVALID_FIELD,
     * PERMISSION_DENIED, STORE_UNAVAILABLE.
     * </pre>
     */
    public dev.threadkeep.v1.RewindSessionResponse rewindSession(dev.threadkeep.v1.RewindSessionRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getRewindSessionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Empties the active window. The session stays, with its labels, metadata, policy and watchers, and the log continues
     * with the next seq.
     * Errors: SESSION_NOT_FOUND, VERSION_MISMATCH, OPERATION_CONFLICT, INVALID_FIELD, PERMISSION_DENIED, STORE_UNAVAILABLE.
     * </pre>
     */
    public dev.threadkeep.v1.ClearEventsResponse clearEvents(dev.threadkeep.v1.ClearEventsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getClearEventsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Erases the content of events, active or archived: by id, or those of invocations or of a branch. Tombstones stay: id, seq,
     * times, role and branch. Summaries and memories that were made of the events stay as they are.
     * Errors: SESSION_NOT_FOUND, EVENT_NOT_FOUND, VERSION_MISMATCH, OPERATION_CONFLICT, INVALID_FIELD, STORE_UNAVAILABLE.
     * </pre>
     */
    public dev.threadkeep.v1.EraseEventsResponse eraseEvents(dev.threadkeep.v1.EraseEventsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getEraseEventsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Replaces the newest events of the active window with others if these are exactly the expected ones: compare and swap.
     * Otherwise nothing changes.
     * Errors: SESSION_NOT_FOUND, VERSION_MISMATCH, EVENT_ID_CONFLICT, OPERATION_CONFLICT, EVENT_TOO_LARGE, BATCH_TOO_LARGE,
     * INVALID_FIELD, PERMISSION_DENIED, STORE_UNAVAILABLE.
     * </pre>
     */
    public dev.threadkeep.v1.ReplaceSuffixResponse replaceSuffix(dev.threadkeep.v1.ReplaceSuffixRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getReplaceSuffixMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service EventService.
   * <pre>
   * Appends and reads events.
   * </pre>
   */
  public static final class EventServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<EventServiceFutureStub> {
    private EventServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected EventServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new EventServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * Appends one or more events, all or none. When it returns, the events are committed to durable storage. A retry with
     * the same event ids stores nothing twice and returns the original seqs.
     * Errors: SESSION_NOT_FOUND, VERSION_MISMATCH, EVENT_ID_CONFLICT, OPERATION_CONFLICT, EVENT_TOO_LARGE, BATCH_TOO_LARGE,
     * STATE_TOO_LARGE,
     * INVALID_FIELD, STORE_UNAVAILABLE.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.threadkeep.v1.AppendEventsResponse> appendEvents(
        dev.threadkeep.v1.AppendEventsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getAppendEventsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Returns an event by its id.
     * Errors: SESSION_NOT_FOUND, EVENT_NOT_FOUND.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.threadkeep.v1.GetEventResponse> getEvent(
        dev.threadkeep.v1.GetEventRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetEventMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Lists the events that match a filter, in window order. An unknown session returns an empty list.
     * Errors: INVALID_FIELD, INVALID_PAGE_TOKEN, AMBIGUOUS_SESSION, HISTORY_UNKNOWN.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.threadkeep.v1.ListEventsResponse> listEvents(
        dev.threadkeep.v1.ListEventsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListEventsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Lists the events of a user that match a filter, of all sessions: session by session in the order of their creation, and in
     * each in window order. The cost of a page does not depend on the number of events, but on that of the sessions without a match
     * that it passes over, of which a page has at most 100.
     * Errors: INVALID_FIELD, INVALID_PAGE_TOKEN.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.threadkeep.v1.ListUserEventsResponse> listUserEvents(
        dev.threadkeep.v1.ListUserEventsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListUserEventsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Returns the context of an agent: whole turns of the active window within a budget, preceded by the latest SYSTEM
     * event and the summaries. The cost is one indexed read, independent of the length of the log. An unknown session
     * returns an empty context.
     * Errors: INVALID_FIELD, AMBIGUOUS_SESSION, HISTORY_UNKNOWN.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.threadkeep.v1.GetContextResponse> getContext(
        dev.threadkeep.v1.GetContextRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetContextMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Returns a session, its state, its newest event, and a page of its events or a context, all as of one moment: what GetSession,
     * GetState, and ListEvents or GetContext return if nothing happens between them. The cost is that of these calls.
     * Errors: SESSION_NOT_FOUND, AMBIGUOUS_SESSION, INVALID_FIELD, PERMISSION_DENIED.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.threadkeep.v1.LoadSessionResponse> loadSession(
        dev.threadkeep.v1.LoadSessionRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getLoadSessionMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Lists the branches of a session, the root first, then in the order of the UTF-8 bytes of their names. The cost of a page grows
     * with its branches and, up to 10,000 each, their events; that of the first page, up to 100,000, with the events on branches.
     * Errors: SESSION_NOT_FOUND, AMBIGUOUS_SESSION, INVALID_FIELD, INVALID_PAGE_TOKEN.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.threadkeep.v1.ListBranchesResponse> listBranches(
        dev.threadkeep.v1.ListBranchesRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListBranchesMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Sums the token usage of events by turn, invocation and branch. It reads the log page by page, so a group may be in several
     * pages: its sum is that of its parts.
     * Errors: SESSION_NOT_FOUND, AMBIGUOUS_SESSION, INVALID_FIELD, INVALID_PAGE_TOKEN.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.threadkeep.v1.ListUsageResponse> listUsage(
        dev.threadkeep.v1.ListUsageRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListUsageMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Takes the newest events out of the active window and returns them: an atomic claim, so that of concurrent callers each
     * event is returned to one. May part a tool call from its result; contexts leave out a result without its call. Seqs are
     * not reused, and the feed reports the removal.
     * Errors: SESSION_NOT_FOUND, VERSION_MISMATCH, OPERATION_CONFLICT, INVALID_FIELD, PERMISSION_DENIED, STORE_UNAVAILABLE.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.threadkeep.v1.PopEventsResponse> popEvents(
        dev.threadkeep.v1.PopEventsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getPopEventsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Goes back to an earlier point: events after it leave the active window, events that left it since are active again, unless
     * they were erased, and the session's state has the values of then. One change of the log, which the feed reports as a removal
     * and, if the state changed, a change of state. At most 10,000 events leave or come back: INVALID_FIELD is returned for a
     * point that is further back; ForkSession has no such limit.
     * Errors: SESSION_NOT_FOUND, EVENT_NOT_FOUND, VERSION_MISMATCH, OPERATION_CONFLICT, HISTORY_UNKNOWN, INVALID_FIELD,
     * PERMISSION_DENIED, STORE_UNAVAILABLE.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.threadkeep.v1.RewindSessionResponse> rewindSession(
        dev.threadkeep.v1.RewindSessionRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getRewindSessionMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Empties the active window. The session stays, with its labels, metadata, policy and watchers, and the log continues
     * with the next seq.
     * Errors: SESSION_NOT_FOUND, VERSION_MISMATCH, OPERATION_CONFLICT, INVALID_FIELD, PERMISSION_DENIED, STORE_UNAVAILABLE.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.threadkeep.v1.ClearEventsResponse> clearEvents(
        dev.threadkeep.v1.ClearEventsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getClearEventsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Erases the content of events, active or archived: by id, or those of invocations or of a branch. Tombstones stay: id, seq,
     * times, role and branch. Summaries and memories that were made of the events stay as they are.
     * Errors: SESSION_NOT_FOUND, EVENT_NOT_FOUND, VERSION_MISMATCH, OPERATION_CONFLICT, INVALID_FIELD, STORE_UNAVAILABLE.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.threadkeep.v1.EraseEventsResponse> eraseEvents(
        dev.threadkeep.v1.EraseEventsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getEraseEventsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Replaces the newest events of the active window with others if these are exactly the expected ones: compare and swap.
     * Otherwise nothing changes.
     * Errors: SESSION_NOT_FOUND, VERSION_MISMATCH, EVENT_ID_CONFLICT, OPERATION_CONFLICT, EVENT_TOO_LARGE, BATCH_TOO_LARGE,
     * INVALID_FIELD, PERMISSION_DENIED, STORE_UNAVAILABLE.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.threadkeep.v1.ReplaceSuffixResponse> replaceSuffix(
        dev.threadkeep.v1.ReplaceSuffixRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getReplaceSuffixMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_APPEND_EVENTS = 0;
  private static final int METHODID_GET_EVENT = 1;
  private static final int METHODID_LIST_EVENTS = 2;
  private static final int METHODID_LIST_USER_EVENTS = 3;
  private static final int METHODID_GET_CONTEXT = 4;
  private static final int METHODID_LOAD_SESSION = 5;
  private static final int METHODID_LIST_BRANCHES = 6;
  private static final int METHODID_LIST_USAGE = 7;
  private static final int METHODID_POP_EVENTS = 8;
  private static final int METHODID_REWIND_SESSION = 9;
  private static final int METHODID_CLEAR_EVENTS = 10;
  private static final int METHODID_ERASE_EVENTS = 11;
  private static final int METHODID_REPLACE_SUFFIX = 12;
  private static final int METHODID_APPEND_STREAM = 13;

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
        case METHODID_APPEND_EVENTS:
          serviceImpl.appendEvents((dev.threadkeep.v1.AppendEventsRequest) request,
              (io.grpc.stub.StreamObserver<dev.threadkeep.v1.AppendEventsResponse>) responseObserver);
          break;
        case METHODID_GET_EVENT:
          serviceImpl.getEvent((dev.threadkeep.v1.GetEventRequest) request,
              (io.grpc.stub.StreamObserver<dev.threadkeep.v1.GetEventResponse>) responseObserver);
          break;
        case METHODID_LIST_EVENTS:
          serviceImpl.listEvents((dev.threadkeep.v1.ListEventsRequest) request,
              (io.grpc.stub.StreamObserver<dev.threadkeep.v1.ListEventsResponse>) responseObserver);
          break;
        case METHODID_LIST_USER_EVENTS:
          serviceImpl.listUserEvents((dev.threadkeep.v1.ListUserEventsRequest) request,
              (io.grpc.stub.StreamObserver<dev.threadkeep.v1.ListUserEventsResponse>) responseObserver);
          break;
        case METHODID_GET_CONTEXT:
          serviceImpl.getContext((dev.threadkeep.v1.GetContextRequest) request,
              (io.grpc.stub.StreamObserver<dev.threadkeep.v1.GetContextResponse>) responseObserver);
          break;
        case METHODID_LOAD_SESSION:
          serviceImpl.loadSession((dev.threadkeep.v1.LoadSessionRequest) request,
              (io.grpc.stub.StreamObserver<dev.threadkeep.v1.LoadSessionResponse>) responseObserver);
          break;
        case METHODID_LIST_BRANCHES:
          serviceImpl.listBranches((dev.threadkeep.v1.ListBranchesRequest) request,
              (io.grpc.stub.StreamObserver<dev.threadkeep.v1.ListBranchesResponse>) responseObserver);
          break;
        case METHODID_LIST_USAGE:
          serviceImpl.listUsage((dev.threadkeep.v1.ListUsageRequest) request,
              (io.grpc.stub.StreamObserver<dev.threadkeep.v1.ListUsageResponse>) responseObserver);
          break;
        case METHODID_POP_EVENTS:
          serviceImpl.popEvents((dev.threadkeep.v1.PopEventsRequest) request,
              (io.grpc.stub.StreamObserver<dev.threadkeep.v1.PopEventsResponse>) responseObserver);
          break;
        case METHODID_REWIND_SESSION:
          serviceImpl.rewindSession((dev.threadkeep.v1.RewindSessionRequest) request,
              (io.grpc.stub.StreamObserver<dev.threadkeep.v1.RewindSessionResponse>) responseObserver);
          break;
        case METHODID_CLEAR_EVENTS:
          serviceImpl.clearEvents((dev.threadkeep.v1.ClearEventsRequest) request,
              (io.grpc.stub.StreamObserver<dev.threadkeep.v1.ClearEventsResponse>) responseObserver);
          break;
        case METHODID_ERASE_EVENTS:
          serviceImpl.eraseEvents((dev.threadkeep.v1.EraseEventsRequest) request,
              (io.grpc.stub.StreamObserver<dev.threadkeep.v1.EraseEventsResponse>) responseObserver);
          break;
        case METHODID_REPLACE_SUFFIX:
          serviceImpl.replaceSuffix((dev.threadkeep.v1.ReplaceSuffixRequest) request,
              (io.grpc.stub.StreamObserver<dev.threadkeep.v1.ReplaceSuffixResponse>) responseObserver);
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
        case METHODID_APPEND_STREAM:
          return (io.grpc.stub.StreamObserver<Req>) serviceImpl.appendStream(
              (io.grpc.stub.StreamObserver<dev.threadkeep.v1.AppendStreamResponse>) responseObserver);
        default:
          throw new AssertionError();
      }
    }
  }

  public static final io.grpc.ServerServiceDefinition bindService(AsyncService service) {
    return io.grpc.ServerServiceDefinition.builder(getServiceDescriptor())
        .addMethod(
          getAppendEventsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.threadkeep.v1.AppendEventsRequest,
              dev.threadkeep.v1.AppendEventsResponse>(
                service, METHODID_APPEND_EVENTS)))
        .addMethod(
          getAppendStreamMethod(),
          io.grpc.stub.ServerCalls.asyncBidiStreamingCall(
            new MethodHandlers<
              dev.threadkeep.v1.AppendStreamRequest,
              dev.threadkeep.v1.AppendStreamResponse>(
                service, METHODID_APPEND_STREAM)))
        .addMethod(
          getGetEventMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.threadkeep.v1.GetEventRequest,
              dev.threadkeep.v1.GetEventResponse>(
                service, METHODID_GET_EVENT)))
        .addMethod(
          getListEventsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.threadkeep.v1.ListEventsRequest,
              dev.threadkeep.v1.ListEventsResponse>(
                service, METHODID_LIST_EVENTS)))
        .addMethod(
          getListUserEventsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.threadkeep.v1.ListUserEventsRequest,
              dev.threadkeep.v1.ListUserEventsResponse>(
                service, METHODID_LIST_USER_EVENTS)))
        .addMethod(
          getGetContextMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.threadkeep.v1.GetContextRequest,
              dev.threadkeep.v1.GetContextResponse>(
                service, METHODID_GET_CONTEXT)))
        .addMethod(
          getLoadSessionMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.threadkeep.v1.LoadSessionRequest,
              dev.threadkeep.v1.LoadSessionResponse>(
                service, METHODID_LOAD_SESSION)))
        .addMethod(
          getListBranchesMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.threadkeep.v1.ListBranchesRequest,
              dev.threadkeep.v1.ListBranchesResponse>(
                service, METHODID_LIST_BRANCHES)))
        .addMethod(
          getListUsageMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.threadkeep.v1.ListUsageRequest,
              dev.threadkeep.v1.ListUsageResponse>(
                service, METHODID_LIST_USAGE)))
        .addMethod(
          getPopEventsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.threadkeep.v1.PopEventsRequest,
              dev.threadkeep.v1.PopEventsResponse>(
                service, METHODID_POP_EVENTS)))
        .addMethod(
          getRewindSessionMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.threadkeep.v1.RewindSessionRequest,
              dev.threadkeep.v1.RewindSessionResponse>(
                service, METHODID_REWIND_SESSION)))
        .addMethod(
          getClearEventsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.threadkeep.v1.ClearEventsRequest,
              dev.threadkeep.v1.ClearEventsResponse>(
                service, METHODID_CLEAR_EVENTS)))
        .addMethod(
          getEraseEventsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.threadkeep.v1.EraseEventsRequest,
              dev.threadkeep.v1.EraseEventsResponse>(
                service, METHODID_ERASE_EVENTS)))
        .addMethod(
          getReplaceSuffixMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.threadkeep.v1.ReplaceSuffixRequest,
              dev.threadkeep.v1.ReplaceSuffixResponse>(
                service, METHODID_REPLACE_SUFFIX)))
        .build();
  }

  private static abstract class EventServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    EventServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return dev.threadkeep.v1.EventServiceOuterClass.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("EventService");
    }
  }

  private static final class EventServiceFileDescriptorSupplier
      extends EventServiceBaseDescriptorSupplier {
    EventServiceFileDescriptorSupplier() {}
  }

  private static final class EventServiceMethodDescriptorSupplier
      extends EventServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    EventServiceMethodDescriptorSupplier(java.lang.String methodName) {
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
      synchronized (EventServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new EventServiceFileDescriptorSupplier())
              .addMethod(getAppendEventsMethod())
              .addMethod(getAppendStreamMethod())
              .addMethod(getGetEventMethod())
              .addMethod(getListEventsMethod())
              .addMethod(getListUserEventsMethod())
              .addMethod(getGetContextMethod())
              .addMethod(getLoadSessionMethod())
              .addMethod(getListBranchesMethod())
              .addMethod(getListUsageMethod())
              .addMethod(getPopEventsMethod())
              .addMethod(getRewindSessionMethod())
              .addMethod(getClearEventsMethod())
              .addMethod(getEraseEventsMethod())
              .addMethod(getReplaceSuffixMethod())
              .build();
        }
      }
    }
    return result;
  }
}
