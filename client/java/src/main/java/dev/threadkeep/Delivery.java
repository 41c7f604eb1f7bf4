package dev.threadkeep;

import dev.threadkeep.internal.Member;
import dev.threadkeep.v1.Change;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * One change to handle. The outcome of a handler is reported for it; a subscriber calls {@link #acknowledge()}, {@link
 * #reject(String)} or {@link #park(String)}, and receives the next delivery of the partition after that. Only the first of these
 * calls has an effect.
 */
public final class Delivery {
  private final dev.threadkeep.v1.Delivery delivery;
  private final Member member;
  private final Runnable settled;
  private final AtomicBoolean isSettled = new AtomicBoolean();

  Delivery(dev.threadkeep.v1.Delivery delivery, Member member, Runnable settled) {
    this.delivery = delivery;
    this.member = member;
    this.settled = settled;
  }

  /**
   * Returns the change.
   *
   * @return the complete change, of any size; never a checkpoint
   */
  public Change change() {
    return delivery.getChange();
  }

  /**
   * Returns the number of the attempt.
   *
   * @return the number, from 1; a higher one was delivered before and not acknowledged
   */
  public int attempt() {
    return delivery.getAttempt();
  }

  /**
   * Returns the id of the parked change that is replayed.
   *
   * @return the id, empty if this is no replay
   */
  public String parkedId() {
    return delivery.getParkedId();
  }

  /** Acknowledges the delivery: it is not delivered again. */
  public void acknowledge() {
    settle(() -> member.acknowledge(delivery));
  }

  /**
   * Rejects the delivery: it is delivered again after a pause, with the changes after it, or parked after the last attempt.
   *
   * @param reason why, stored with a parked change
   */
  public void reject(String reason) {
    settle(() -> member.reject(delivery, reason, false));
  }

  /**
   * Parks the change: it is not delivered again until it is replayed.
   *
   * @param reason why, stored with the parked change
   */
  public void park(String reason) {
    settle(() -> member.reject(delivery, reason, true));
  }

  private void settle(Runnable outcome) {
    if (isSettled.compareAndSet(false, true)) {
      outcome.run();
      settled.run();
    }
  }
}
