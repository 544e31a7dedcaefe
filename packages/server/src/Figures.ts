import { Metric, MetricBoundaries, MetricKey, MetricLabel } from "effect"

/**
 * The figures of the service, which `GET /metrics` shows and OTLP sends. They are those of the process: two services in one add up. Labels have few
 * values, and none is an id or a name of a person.
 */
type Labels = Readonly<Record<string, string>>

const labelled = <Key extends MetricKey.MetricKey.Untyped>(key: Key, labels: Labels): Key =>
  // Boundary: labels change nothing about the kind of a key.
  MetricKey.taggedWithLabels(
    key,
    Object.entries(labels).map(([name, value]) => MetricLabel.make(name, value))
  ) as unknown as Key

/** The upper bounds of durations, in seconds: from an answer out of memory to a long turn. */
const seconds = MetricBoundaries.fromIterable([0.005, 0.025, 0.1, 0.5, 2.5, 10, 60, 300, 1800])
/** Those of requests, which nobody waits minutes for. */
const requestSeconds = MetricBoundaries.fromIterable([0.005, 0.025, 0.1, 0.5, 2.5, 10])

const counter = (name: string, description: string) => {
  const key = MetricKey.counter(name, { description, incremental: true })
  return (labels: Labels) => Metric.fromMetricKey(labelled(key, labels))
}
const gauge = (name: string, description: string) => {
  const key = MetricKey.gauge(name, { description })
  return (labels: Labels) => Metric.fromMetricKey(labelled(key, labels))
}
const histogram = (name: string, boundaries: MetricBoundaries.MetricBoundaries, description: string) => {
  const key = MetricKey.histogram(name, boundaries, description)
  return (labels: Labels) => Metric.fromMetricKey(labelled(key, labels))
}

export const requestDuration = histogram(
  "reins_http_request_duration_seconds",
  requestSeconds,
  "How long requests took."
)
export const requestsInProgress = gauge(
  "reins_http_requests_in_progress",
  "Requests that are being answered; an open stream is one."
)
export const openStreams = gauge("reins_event_streams_open", "Event streams that are open.")({})
export const turnsEnded = counter("reins_turns_ended_total", "Turns that have ended, by provider, state and reason.")
export const turnWait = histogram("reins_turn_queue_wait_seconds", seconds, "How long turns waited in the queue.")
export const turnDuration = histogram(
  "reins_turn_duration_seconds",
  seconds,
  "How long turns took from the start of their agent."
)
export const tokens = counter("reins_tokens_total", "Tokens that ended turns report, by provider and kind.")
export const agentsTaken = counter(
  "reins_agent_turns_total",
  "Turns that were given an agent, by provider and start: warm for one that was ready, cold for one that had to be started."
)
export const agentsKept = gauge("reins_agents_idle", "Agents that are kept ready for a turn of their session.")({})
export const deliveriesEnded = counter(
  "reins_deliveries_ended_total",
  "Deliveries that have ended or wait for a person, by transport, state and reason."
)
export const webhookAttempts = counter(
  "reins_webhook_attempts_total",
  "Attempts to deliver to webhook endpoints, by the state of the delivery after them (pending: it is attempted again) and by the class of the answer's status."
)
export const webhookDuration = histogram(
  "reins_webhook_attempt_duration_seconds",
  requestSeconds,
  "How long webhook endpoints took to answer, or to fail."
)({})
export const webhooksDisabled = counter(
  "reins_webhook_endpoints_disabled_total",
  "Webhook endpoints that were disabled because they are gone or have failed for days, by reason."
)
export const jobsEnded = counter("reins_jobs_ended_total", "Jobs that have ended, by kind and state.")
export const attemptsRetried = counter("reins_job_retries_total", "Attempts that failed and are made again, by kind.")
export const eventLoopLag = gauge(
  "reins_event_loop_lag_seconds",
  "How late the event loop was in the last interval, by quantile."
)
