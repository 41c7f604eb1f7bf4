/** What is read: filters of events, and memory providers. */
package dev.threadkeep.filter;
