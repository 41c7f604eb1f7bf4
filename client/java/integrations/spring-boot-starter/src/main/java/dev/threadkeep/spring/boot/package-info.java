/** Auto-configuration of Threadkeep for Spring Boot: the client, its health and metrics, and the repositories of Spring AI. */
package dev.threadkeep.spring.boot;
