/** Sessions and memory of Google's Agent Development Kit on a Threadkeep server. */
package dev.threadkeep.adk;
