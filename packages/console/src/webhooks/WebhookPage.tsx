import { useSignal } from "@preact/signals"
import type { WebhookDelivery, WebhookEndpoint } from "@reins/client"
import { useAction, useEvery, useLoaded, usePages } from "../api/Loading.js"
import { reins } from "../api/Server.js"
import { go } from "../route/Route.js"
import { Await, Field, fieldsOf, Nothing, Outcome, PageHead } from "../ui/Basics.js"
import { Confirm } from "../ui/Confirm.js"
import { Dialog } from "../ui/Dialog.js"
import { More } from "../ui/More.js"
import { Secret } from "../ui/Secret.js"
import { day } from "../words/Words.js"
import { DeliveryRow } from "./DeliveryRow.js"
import { WebhookForm } from "./WebhookForm.js"
import { EndpointState } from "./WebhooksPage.js"

const states = ["pending", "succeeded", "failed"] as const

/** An endpoint with its deliveries. */
export const WebhookPage = ({ endpointId }: { readonly endpointId: string }) => {
  const webhook_endpoint_id = endpointId
  const endpoint = useLoaded(
    "the endpoint",
    (signal) => reins.webhooks.getEndpoint({ webhook_endpoint_id }, { signal }),
    [endpointId]
  )
  const wanted = useSignal<WebhookDelivery["state"] | undefined>(undefined)
  const deliveries = usePages(
    "the deliveries",
    (cursor, signal) =>
      reins.webhooks.listDeliveries(
        {
          webhook_endpoint_id,
          limit: 50,
          ...(cursor !== undefined && { cursor }),
          ...(wanted.value !== undefined && { state: wanted.value })
        },
        { signal }
      ),
    [endpointId, wanted.value]
  )
  const reload = () => {
    endpoint.reload()
    deliveries.reload()
  }
  useEvery(3000, true, reload)
  return (
    <Await of={endpoint}>
      {(value) => (
        <>
          <Head endpoint={value} reload={reload} />
          <div class="section-head apart">
            <h2>Deliveries</h2>
            <select
              aria-label="State"
              value={wanted.value ?? ""}
              onChange={({ currentTarget }) => (wanted.value = states.find((each) => each === currentTarget.value))}
            >
              <option value="">all</option>
              {states.map((state) => (
                <option key={state}>{state}</option>
              ))}
            </select>
          </div>
          <Await of={deliveries}>
            {({ items }) =>
              items.length === 0 ? (
                <Nothing>
                  {wanted.value === undefined
                    ? "Nothing was sent yet. It gets the events from now on."
                    : `No delivery is ${wanted.value}.`}
                </Nothing>
              ) : (
                <ul class="rows">
                  {items.map((delivery) => (
                    <DeliveryRow key={delivery.id} delivery={delivery} reload={reload} />
                  ))}
                </ul>
              )
            }
          </Await>
          <More of={deliveries} />
        </>
      )}
    </Await>
  )
}

const Head = ({ endpoint, reload }: { readonly endpoint: WebhookEndpoint; readonly reload: () => void }) => {
  const { description, id, label, pending, project_id, secret_overlaps_until, state, types, url } = endpoint
  const webhook_endpoint_id = id
  const action = useAction()
  const dialog = useSignal<"change" | "rotate" | undefined>(undefined)
  const close = () => {
    dialog.value = undefined
    reload()
  }
  const turn = (to: WebhookEndpoint["state"]) =>
    action.run("the endpoint", async () => {
      await reins.webhooks.updateEndpoint({ webhook_endpoint_id, state: to })
      reload()
    })
  const sendTest = () =>
    action.run("the test", async () => {
      await reins.webhooks.sendTest({ webhook_endpoint_id })
      reload()
    })
  const remove = () =>
    action.run("the removal", async () => {
      await reins.webhooks.removeEndpoint({ webhook_endpoint_id })
      go("webhooks")
    })
  return (
    <>
      <PageHead
        title={new URL(url).host}
        under={
          <>
            <EndpointState endpoint={endpoint} /> <code>{url}</code> {description ?? ""}
          </>
        }
      >
        {state === "enabled" && (
          <button type="button" disabled={action.busy.value !== undefined} onClick={sendTest}>
            Send a test
          </button>
        )}
        <button type="button" onClick={() => (dialog.value = "change")}>
          Change
        </button>
        <button type="button" onClick={() => (dialog.value = "rotate")}>
          Rotate the secret
        </button>
        <button type="button" onClick={() => turn(state === "enabled" ? "disabled" : "enabled")}>
          {state === "enabled" ? "Disable" : "Enable"}
        </button>
        <Confirm act={remove} ask="It goes with its deliveries. Remove it?">
          Remove
        </Confirm>
      </PageHead>
      <p class="fine">
        {types === null ? "All events" : types.join(", ")}
        {project_id !== null && ` · of the project ${project_id}`}
        {label !== null && ` · with the label ${label}`} · {pending} waiting
        {secret_overlaps_until !== null && ` · signed with the secret before too until ${day(secret_overlaps_until)}`}
      </p>
      <Outcome of={action} />
      {dialog.value === "change" && (
        <Dialog title="Change the endpoint" close={close}>
          <WebhookForm workspaceId={endpoint.workspace_id} endpoint={endpoint} done={close} />
        </Dialog>
      )}
      {dialog.value === "rotate" && (
        <Dialog title="Rotate the secret" close={close}>
          <RotateForm endpointId={id} />
        </Dialog>
      )}
    </>
  )
}

const overlaps = [
  { seconds: 86_400, name: "a day" },
  { seconds: 604_800, name: "a week" },
  { seconds: 3600, name: "an hour" },
  { seconds: 0, name: "not at all: the secret is known to somebody else" }
] as const

const RotateForm = ({ endpointId }: { readonly endpointId: string }) => {
  const action = useAction()
  const secret = useSignal<string | undefined>(undefined)
  if (secret.value !== undefined) return <Secret name="secret that signs its deliveries" value={secret.value} />
  return (
    <form
      onSubmit={(event) => {
        const { overlap = "" } = fieldsOf(event)
        void action.run("the new secret", async () => {
          const rotated = await reins.webhooks.rotateSecret({
            webhook_endpoint_id: endpointId,
            overlap_seconds: Number(overlap)
          })
          secret.value = rotated.secret
        })
      }}
    >
      <Field label="The secret before is good for" hint="Meanwhile deliveries carry a signature of both.">
        <select name="overlap">
          {overlaps.map(({ name, seconds }) => (
            <option key={seconds} value={seconds}>
              {name}
            </option>
          ))}
        </select>
      </Field>
      <p class="end">
        <button type="submit" class="primary" disabled={action.busy.value !== undefined}>
          Make a new secret
        </button>
      </p>
      <Outcome of={action} />
    </form>
  )
}
