/** Spring AI on Threadkeep: the repository of Spring AI Session, and the form of its messages. */
package dev.threadkeep.spring.ai;
