package dev.threadkeep.compaction;

import dev.threadkeep.v1.CompactionTrigger;
import dev.threadkeep.v1.TriggerList;
import java.util.Arrays;

/** Conditions of compactions. */
public final class Triggers {
  private Triggers() {}

  /**
   * Fires if the window has more than n turns.
   *
   * @param n the number
   * @return the trigger
   */
  public static CompactionTrigger turnsOver(long n) {
    return CompactionTrigger.newBuilder().setTurnsOver(n).build();
  }

  /**
   * Fires if the window has n tokens or more.
   *
   * @param n the number
   * @return the trigger
   */
  public static CompactionTrigger tokens(long n) {
    return CompactionTrigger.newBuilder().setTokens(n).build();
  }

  /**
   * Fires if the window has n bytes or more.
   *
   * @param n the number
   * @return the trigger
   */
  public static CompactionTrigger size(long n) {
    return CompactionTrigger.newBuilder().setBytes(n).build();
  }

  /**
   * Fires if the window has n events or more.
   *
   * @param n the number
   * @return the trigger
   */
  public static CompactionTrigger events(long n) {
    return CompactionTrigger.newBuilder().setEvents(n).build();
  }

  /**
   * Fires if one of these fires.
   *
   * @param triggers the triggers
   * @return the trigger
   */
  public static CompactionTrigger anyOf(CompactionTrigger... triggers) {
    return CompactionTrigger.newBuilder().setAnyOf(TriggerList.newBuilder().addAllTriggers(Arrays.asList(triggers))).build();
  }

  /**
   * Fires if all of these fire.
   *
   * @param triggers the triggers
   * @return the trigger
   */
  public static CompactionTrigger allOf(CompactionTrigger... triggers) {
    return CompactionTrigger.newBuilder().setAllOf(TriggerList.newBuilder().addAllTriggers(Arrays.asList(triggers))).build();
  }
}
