import { useSignal } from "@preact/signals"
import type { WebhookEndpoint } from "@reins/client"
import { useLoaded } from "../api/Loading.js"
import { reins, wholeOf } from "../api/Server.js"
import { isOwner } from "../inbox/Workspace.js"
import { Await, Nothing, PageHead, State, Time } from "../ui/Basics.js"
import { Dialog } from "../ui/Dialog.js"
import { Secret } from "../ui/Secret.js"
import { plain } from "../words/Words.js"
import { WebhookForm } from "./WebhookForm.js"

/** The endpoints to which the events of the workspace are sent. */
export const WebhooksPage = ({ workspaceId }: { readonly workspaceId: string }) => {
  const list = useLoaded(
    "the webhook endpoints",
    (signal) => wholeOf(reins.webhooks.listEndpoints({ workspace_id: workspaceId, limit: 100 }, { signal })),
    [workspaceId]
  )
  const isMaking = useSignal(false)
  const secret = useSignal<string | undefined>(undefined)
  const close = () => {
    isMaking.value = false
    secret.value = undefined
    list.reload()
  }
  return (
    <>
      <PageHead
        title="Webhooks"
        under="Reins sends the events of this workspace to these addresses, signed as in Standard Webhooks."
      >
        {isOwner.value && (
          <button type="button" class="primary" onClick={() => (isMaking.value = true)}>
            New endpoint
          </button>
        )}
      </PageHead>
      <Await of={list}>
        {({ items }) =>
          items.length === 0 ? (
            <Nothing>There is no endpoint. Make one to be told when an agent needs you or has ended.</Nothing>
          ) : (
            <ul class="cards">
              {items.map((each) => (
                <EndpointCard key={each.id} endpoint={each} />
              ))}
            </ul>
          )
        }
      </Await>
      {isMaking.value && (
        <Dialog title="New endpoint" close={close}>
          {secret.value === undefined ? (
            <WebhookForm workspaceId={workspaceId} made={(made) => (secret.value = made.secret)} done={close} />
          ) : (
            <Secret name="secret that signs its deliveries" value={secret.value} />
          )}
        </Dialog>
      )}
    </>
  )
}

const EndpointCard = ({ endpoint }: { readonly endpoint: WebhookEndpoint }) => {
  const { description, id, pending, types, url } = endpoint
  return (
    <li>
      <div class="section-head">
        <h2>
          <a href={`webhooks/${id}`}>{url}</a>
        </h2>
        <EndpointState endpoint={endpoint} />
      </div>
      {description !== null && <p>{description}</p>}
      <p class="fine">
        {types === null ? "all events" : types.join(", ")} · {pending} waiting
      </p>
    </li>
  )
}

/** The state of an endpoint with its reason. */
export const EndpointState = ({
  endpoint: { disabled_reason, failing_since, state }
}: {
  readonly endpoint: WebhookEndpoint
}) => (
  <span>
    {state === "disabled" ? (
      <State of="disabled" as={`disabled ${disabled_reason === null ? "" : plain(disabled_reason)}`} />
    ) : failing_since === null ? (
      <State of="active" as="enabled" />
    ) : (
      <>
        <State of="attention" as="failing" />{" "}
        <span class="fine">
          <Time at={failing_since} />
        </span>
      </>
    )}
  </span>
)
