import { keyOf, type Principal } from "@reins/base/domain/Principal"
import {
  Cause,
  type FiberId,
  FiberRef,
  FiberRefs,
  HashMap,
  HashSet,
  List,
  Logger,
  LogLevel,
  type Runtime
} from "effect"
import { jsonLines, writeLine } from "../../LogLines.js"
import type { Exchange } from "../Exchange.js"

/** Writes the line of a request, unless it needs none. */
export type AccessLog = (exchange: Exchange, status: number, ms: number, fiberId: FiberId.FiberId) => void

/**
 * Logs each mutation and each failure: the caller and its address, the request, the status. It leaves out the query and the body, which may hold secrets. Only
 * an unforeseen answer is a warning, because a full disk and a stop are logged once by themselves. The loggers are called directly,
 * because an effect that logs would need a fiber of its own after each answer.
 */
export const accessLog = ({ fiberRefs: context }: Runtime.Runtime<never>): AccessLog => {
  const loggers = FiberRefs.getOrDefault(context, FiberRef.currentLoggers)
  const writesLines = HashSet.has(loggers, jsonLines)
  // The logger of the tracer adds lines to the span around them, and no span is around the listener.
  const others = [...loggers].filter((logger) => logger !== jsonLines && logger !== Logger.tracerLogger)
  const least = FiberRefs.getOrDefault(context, FiberRef.currentMinimumLogLevel)
  return (exchange, status, ms, fiberId) => {
    const { clientAddress, method, path, principal, requestId } = exchange
    if (status < 400 && (method === "GET" || method === "HEAD" || method === "OPTIONS")) return
    const logLevel = status >= 500 && status !== 503 ? LogLevel.Warning : LogLevel.Info
    if (LogLevel.greaterThan(least, logLevel)) return
    const annotations = {
      request_id: requestId,
      method,
      path,
      status,
      ms: Math.round(ms),
      principal: nameOf(principal),
      client: clientAddress
    }
    const line = { logLevel, date: new Date(), fiberId }
    if (writesLines) writeLine({ ...line, message: "request", annotations })
    for (const logger of others)
      logger.log({
        ...line,
        message: ["request"],
        annotations: HashMap.fromIterable(Object.entries(annotations)),
        cause: Cause.empty,
        context,
        spans: List.empty()
      })
  }
}

const nameOf = (principal: Principal | undefined): string | null =>
  principal === undefined ? null : (keyOf(principal) ?? principal.accountId)
