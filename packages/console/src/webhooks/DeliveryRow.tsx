import { useSignal } from "@preact/signals"
import type { WebhookAttempt, WebhookDelivery } from "@reins/client"
import { useAction, useLoaded } from "../api/Loading.js"
import { reins } from "../api/Server.js"
import { Await, Outcome, State, Time } from "../ui/Basics.js"
import { now } from "../ui/Now.js"
import { count, countdown } from "../words/Words.js"

/** A delivery, which opens to show its attempts. */
export const DeliveryRow = ({
  delivery,
  reload
}: {
  readonly delivery: WebhookDelivery
  readonly reload: () => void
}) => {
  const { attempt_count, created_at, id, retry_at, seq, session_id, state, type } = delivery
  const isOpen = useSignal(false)
  const action = useAction()
  const redeliver = () =>
    action.run("the delivery", async () => {
      await reins.webhooks.retryDelivery({ webhook_delivery_id: id })
      reload()
    })
  const left = retry_at === null ? "" : countdown(retry_at, now.value)
  return (
    <li class="webhook-delivery">
      <div class="row-line">
        <button type="button" class="link" aria-expanded={isOpen.value} onClick={() => (isOpen.value = !isOpen.value)}>
          {type}
        </button>
        <State of={state} />
        <span class="fine">
          {session_id !== null && (
            <>
              <a href={`sessions/${session_id}/events`}>seq {seq}</a> ·{" "}
            </>
          )}
          {count(attempt_count, "attempt")}
          {retry_at !== null && ` · again ${left === "" ? "now" : `in ${left}`}`} · <Time at={created_at} />
        </span>
        <span class="actions">
          <button type="button" class="small" disabled={action.busy.value !== undefined} onClick={redeliver}>
            {state === "pending" ? "Try now" : "Deliver again"}
          </button>
        </span>
      </div>
      <Outcome of={action} />
      {isOpen.value && <Attempts delivery={delivery} />}
    </li>
  )
}

const Attempts = ({ delivery: { attempt_count, event_id, id, state } }: { readonly delivery: WebhookDelivery }) => {
  const whole = useLoaded(
    "the attempts",
    (signal) => reins.webhooks.getDelivery({ webhook_delivery_id: id }, { signal }),
    [id, attempt_count, state]
  )
  return (
    <div class="inset">
      <p class="fine">
        <code>webhook-id: {event_id}</code>
      </p>
      <Await of={whole}>
        {({ attempts }) =>
          attempts.length === 0 ? (
            <p class="fine">It was not attempted yet.</p>
          ) : (
            <ol class="attempts">
              {attempts.map((attempt) => (
                <AttemptLine key={attempt.ordinal} attempt={attempt} />
              ))}
            </ol>
          )
        }
      </Await>
    </div>
  )
}

const AttemptLine = ({
  attempt: { answer, duration_ms, error, ordinal, started_at, status }
}: {
  readonly attempt: WebhookAttempt
}) => (
  <li>
    <p>
      <State of={error === null ? "succeeded" : "failed"} as={status === null ? "no answer" : `${status}`} /> attempt{" "}
      {ordinal}{" "}
      <span class="fine">
        {duration_ms.toLocaleString("en")} ms · <Time at={started_at} />
      </span>{" "}
      {error}
    </p>
    {answer !== null && answer !== "" && <code class="block">{answer}</code>}
  </li>
)
