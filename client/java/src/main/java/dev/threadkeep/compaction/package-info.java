/** Builders of compaction policies: triggers and strategies. */
package dev.threadkeep.compaction;
