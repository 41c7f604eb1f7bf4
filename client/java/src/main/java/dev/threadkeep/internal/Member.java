package dev.threadkeep.internal;

import dev.threadkeep.v1.Acknowledge;
import dev.threadkeep.v1.ConsumeRequest;
import dev.threadkeep.v1.Delivery;
import dev.threadkeep.v1.Reject;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Consumer;

/** One Consume stream: which deliveries count, and what was sent about them. Any thread may call it. */
public final class Member {
  private static final int LONGEST_REASON = 1024;
  private static final System.Logger LOG = System.getLogger("dev.threadkeep");

  private final Consumer<ConsumeRequest> send;

  /** By partition: the attempt that failed. */
  private final Map<Integer, Integer> rejected = new HashMap<>();

  private int maxAttempts;
  private boolean stopped;
  private boolean ended;

  /**
   * Creates the state of a stream.
   *
   * @param send sends a request; it is not called by two threads at once
   */
  public Member(Consumer<ConsumeRequest> send) {
    this.send = send;
  }

  /**
   * Stores the limit of the server's answer to the join.
   *
   * @param limit maximum number of attempts
   */
  public synchronized void joined(int limit) {
    maxAttempts = limit;
  }

  /**
   * Returns whether to handle the delivery: not if its stream ended, nor if an earlier one of the partition was rejected. A
   * rejected delivery is delivered again with all that follow it. Deliveries that were sent before the rejection are recognized
   * by their attempt: no change is delivered more often than the change before it.
   *
   * @param delivery the delivery
   * @return false if it is void
   */
  public synchronized boolean counts(Delivery delivery) {
    Integer failed = rejected.get(delivery.getPartition());
    if (stopped || failed == null || !delivery.getParkedId().isEmpty()) {
      return !stopped;
    }
    if (delivery.getAttempt() <= failed) {
      return false;
    }
    rejected.remove(delivery.getPartition());
    return true;
  }

  /**
   * Acknowledges a delivery.
   *
   * @param delivery the delivery
   */
  public synchronized void acknowledge(Delivery delivery) {
    request(ConsumeRequest.newBuilder().setAcknowledge(Acknowledge.newBuilder().addDeliveryIds(delivery.getDeliveryId())));
  }

  /**
   * Rejects a delivery.
   *
   * @param delivery the delivery
   * @param reason why
   * @param park whether to park it at once
   */
  public synchronized void reject(Delivery delivery, String reason, boolean park) {
    boolean comesAgain = !park && delivery.getParkedId().isEmpty() && delivery.getAttempt() < maxAttempts;
    if (comesAgain) {
      rejected.put(delivery.getPartition(), delivery.getAttempt());
    }
    String outcome = comesAgain ? "rejected" : "parked";
    LOG.log(System.Logger.Level.WARNING, "a delivery was {0} at attempt {1}: {2}", outcome, delivery.getAttempt(), reason);
    String brief = reason.substring(0, reason.offsetByCodePoints(0, Math.min(LONGEST_REASON, reason.codePointCount(0, reason.length()))));
    var reject = Reject.newBuilder().setDeliveryId(delivery.getDeliveryId()).setReason(brief).setPark(park);
    request(ConsumeRequest.newBuilder().setReject(reject));
  }

  /** Starts no more deliveries; the outcome of running ones is still sent. */
  public synchronized void stop() {
    stopped = true;
  }

  /** Sends no more requests. */
  public synchronized void end() {
    stopped = true;
    ended = true;
  }

  private void request(ConsumeRequest.Builder request) {
    if (!ended) {
      send.accept(request.build());
    }
  }
}
