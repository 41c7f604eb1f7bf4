package dev.threadkeep;

import dev.threadkeep.internal.Connection;
import dev.threadkeep.internal.Deliveries;
import dev.threadkeep.v1.JoinConsumer;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.Flow;
import java.util.concurrent.atomic.AtomicBoolean;

/** A subscriber as the member of a consumer. */
final class DeliverySubscription implements Flow.Subscription {
  private final Flow.Subscriber<? super Delivery> subscriber;
  private final Deliveries deliveries;
  private final AtomicBoolean canceled = new AtomicBoolean();

  private DeliverySubscription(Connection connection, JoinConsumer join, Flow.Subscriber<? super Delivery> subscriber) {
    this.subscriber = Objects.requireNonNull(subscriber, "subscriber");
    this.deliveries =
        new Deliveries(
            connection, join, 0, false, (delivery, member, settled) -> deliver(new Delivery(delivery, member, settled)), this::finish);
  }

  /** Makes a subscriber a member. */
  static void start(Connection connection, JoinConsumer join, Flow.Subscriber<? super Delivery> subscriber) {
    var subscription = new DeliverySubscription(connection, join, subscriber);
    subscriber.onSubscribe(subscription);
    subscription.deliveries.start();
  }

  @Override
  public void request(long n) {
    if (n > 0) {
      deliveries.request(n);
    } else {
      deliveries.abort(ThreadkeepException.from(new IllegalArgumentException("a subscriber must request at least 1")));
    }
  }

  @Override
  public void cancel() {
    if (canceled.compareAndSet(false, true)) {
      deliveries.leave();
    }
  }

  private void deliver(Delivery delivery) {
    if (!canceled.get()) {
      subscriber.onNext(delivery);
    }
  }

  private void finish(Optional<ThreadkeepException> error) {
    if (canceled.get()) {
      return;
    }
    if (error.isPresent()) {
      subscriber.onError(error.get());
    } else {
      subscriber.onComplete();
    }
  }
}
