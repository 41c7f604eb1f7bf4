package dev.threadkeep.conformance;

import com.google.protobuf.Message;
import com.google.protobuf.MessageOrBuilder;
import dev.threadkeep.conformance.Flavors.AnyClient;
import dev.threadkeep.conformance.Flavors.AnySession;
import dev.threadkeep.conformance.Flavors.AnyState;
import dev.threadkeep.history.ForkOptions;
import dev.threadkeep.history.Point;
import dev.threadkeep.options.SessionsOptions;
import dev.threadkeep.options.UpdateOptions;
import dev.threadkeep.v1.*;

/** The SDK's own methods for RPCs. */
final class Methods {
  private Methods() {}

  /** Calls the SDK's own method for the RPC of a request. */
  static Message call(AnyClient client, Message request) {
    if (request instanceof GetStateRequest read) {
      var state = handle(client, read.getScope(), read.getSession()).get(own -> own.mergeFrom(read));
      return GetStateResponse.newBuilder().setState(state).build();
    }
    if (request instanceof PatchStateRequest patch) {
      return PatchStateResponse.newBuilder().setVersion(patched(handle(client, patch.getScope(), patch.getSession()), patch)).build();
    }
    if (request instanceof UpsertMemoriesRequest upsert) {
      return client.memory(upsert.getScope()).upsert(upsert.getWritesList(), own -> own.setIfExists(upsert.getIfExists()));
    }
    if (request instanceof UpdateSessionRequest update) {
      return UpdateSessionResponse.newBuilder().setSession(session(client, update.getSession()).update(o -> update(o, update))).build();
    }
    if (request instanceof MoveSessionRequest move) {
      return MoveSessionResponse.newBuilder().setSession(session(client, move.getSession()).move(move.getNewUserId(), move.getOperationId())).build();
    }
    if (request instanceof LoadSessionRequest load) {
      return session(client, load.getSession()).load(own -> own.mergeFrom(load));
    }
    if (request instanceof ListSessionsRequest list) {
      return client.sessionsPage(o -> list(o, list));
    }
    return request instanceof GetMemoriesRequest get ? lookedUp(client, get) : removed(client, request);
  }

  /** Returns the point of a request; null for none. */
  private static Point point(MessageOrBuilder request) {
    var field = request.getOneofFieldDescriptor(request.getDescriptorForType().getOneofs().get(0));
    if (field == null) {
      return null;
    }
    var value = request.getField(field);
    return switch (field.getName()) {
      case "at_seq" -> Point.seq((Long) value);
      case "at_event_id" -> Point.event((String) value);
      case "at_invocation_id" -> Point.invocation((String) value);
      default -> Point.logVersion((Long) value);
    };
  }

  private static void update(UpdateOptions options, UpdateSessionRequest request) {
    request.getSetLabelsMap().forEach(options::setLabel);
    options.etag(request.getEtag()).operationId(request.getOperationId());
  }

  private static void list(SessionsOptions options, ListSessionsRequest request) {
    var rest = request.toBuilder().clearWithState().clearForkedFrom().build();
    options.with(own -> own.mergeFrom(rest)).forkedFrom(request.getForkedFrom());
    if (request.getWithState()) options.withState();
  }

  private static void fork(ForkOptions options, ForkSessionRequest request) {
    request.getLabelsMap().forEach(options::label);
    if (point(request) != null) options.at(point(request));
    if (request.hasMetadataJson()) options.metadata(request.getMetadataJson());
    if (request.getWithoutParentLabels()) options.withoutParentLabels();
    if (!request.getOperationId().isEmpty()) options.operationId(request.getOperationId());
  }

  private static Message erased(AnySession session, EraseEventsRequest request) {
    var rest = request.toBuilder().clearEventIds().clearInvocationIds().clearBranch().build();
    if (!request.getBranch().isEmpty()) return session.eraseBranch(request.getBranch(), own -> own.mergeFrom(rest));
    return request.getInvocationIdsCount() > 0
        ? session.eraseInvocations(request.getInvocationIdsList(), own -> own.mergeFrom(rest))
        : session.eraseEvents(request.getEventIdsList(), own -> own.mergeFrom(rest));
  }

  private static Message removed(AnyClient client, Message request) {
    if (request instanceof PopEventsRequest pop) {
      return session(client, pop.getSession()).pop(pop.getCount(), own -> own.mergeFrom(pop));
    }
    if (request instanceof ClearEventsRequest clear) {
      return session(client, clear.getSession()).clear(own -> own.mergeFrom(clear));
    }
    if (request instanceof EraseEventsRequest erase) {
      return erased(session(client, erase.getSession()), erase);
    }
    if (request instanceof RewindSessionRequest rewind) {
      var options = rewind.toBuilder().clearPoint().build();
      return session(client, rewind.getSession()).rewind(point(rewind), own -> own.mergeFrom(options));
    }
    if (request instanceof ForkSessionRequest fork) {
      return session(client, fork.getSession()).fork(fork.getNewSessionId(), o -> fork(o, fork));
    }
    var suffix = (ReplaceSuffixRequest) request;
    var rest = suffix.toBuilder().clearExpectedEventIds().clearEvents().build();
    return session(client, suffix.getSession()).replaceSuffix(suffix.getExpectedEventIdsList(), suffix.getEventsList(), own -> own.mergeFrom(rest));
  }

  private static AnySession session(AnyClient client, SessionRef ref) {
    return client.session(ref);
  }

  private static AnyState handle(AnyClient client, StateScope scope, SessionRef ref) {
    return switch (scope) {
      case STATE_SCOPE_USER -> client.userState(ref.getUserId());
      case STATE_SCOPE_APP -> client.appState(ref.getApp());
      default -> client.session(ref).state();
    };
  }

  private static long patched(AnyState handle, PatchStateRequest patch) {
    return patch.hasExpectedVersion()
        ? handle.patch(patch.getExpectedVersion(), own -> own.mergeFrom(patch.getPatch()))
        : handle.patch(own -> own.mergeFrom(patch.getPatch()));
  }

  private static Message lookedUp(AnyClient client, GetMemoriesRequest get) {
    var entries = client.memory(get.getScope()).get(get.getNamesList(), own -> own.setRefreshTtl(get.getRefreshTtl()));
    var response = GetMemoriesResponse.newBuilder();
    for (int n = 0; n < entries.size(); n++) {
      var lookup = MemoryLookup.newBuilder().setName(get.getNames(n));
      entries.get(n).ifPresent(lookup::setEntry);
      response.addMemories(lookup);
    }
    return response.build();
  }
}
