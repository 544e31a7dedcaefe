import type { Automation, FilterPreview } from "@reins/client"
import { useLoaded } from "../api/Loading.js"
import { reins, wholeOf } from "../api/Server.js"
import { Await } from "../ui/Basics.js"

interface Tried {
  readonly automation: Automation
  readonly preview: FilterPreview
}

/** The answers of the automations of a hook to a delivery. */
export const ReceiptTry = ({
  hookId,
  receiptId,
  workspaceId
}: {
  readonly hookId: string
  readonly receiptId: string
  readonly workspaceId: string
}) => {
  const tried = useLoaded("the automations", (signal) => tryAll(workspaceId, hookId, receiptId, signal), [receiptId])
  return (
    <Await of={tried}>
      {(all) =>
        all.length === 0 ? (
          <p class="fine">No automation listens to this hook.</p>
        ) : (
          <ul class="receipts" aria-label="What the automations make of it">
            {all.map(({ automation, preview }) => (
              <li key={automation.id}>
                <p>
                  <b>{automation.name}</b> {preview.matches ? "would begin a run." : "would begin nothing."}
                </p>
                <Why preview={preview} />
                {preview.matches && preview.data !== null && (
                  <details>
                    <summary>The data for the agent</summary>
                    <pre class="block">{preview.data}</pre>
                  </details>
                )}
              </li>
            ))}
          </ul>
        )
      }
    </Await>
  )
}

/** The conditions that do not hold, with the values that they found. */
const Why = ({ preview: { conditions, event, event_matches } }: { readonly preview: FilterPreview }) => (
  <>
    {!event_matches && <p class="fine">It does not want the event {event ?? "without a name"}.</p>}
    {conditions
      .filter(({ holds }) => !holds)
      .map(({ found, pointer }) => (
        <p key={pointer} class="fine">
          <code>{pointer === "" ? "the body" : pointer}</code> is {found ?? "missing"}
        </p>
      ))}
  </>
)

const tryAll = async (
  workspace_id: string,
  hookId: string,
  receipt_id: string,
  signal: AbortSignal
): Promise<ReadonlyArray<Tried>> => {
  const { items } = await wholeOf(reins.automations.list({ workspace_id, limit: 100 }, { signal }))
  const tried = items.map(async (automation): Promise<ReadonlyArray<Tried>> => {
    const { deliver, trigger } = automation
    if (trigger.kind !== "hook" || trigger.hook_id !== hookId) return []
    const { events, filter, pick } = trigger
    const closes = deliver?.merge_request?.closes
    const wants = { events: events ?? null, filter: filter ?? null, pick: pick ?? null, closes: closes ?? null }
    return [
      {
        automation,
        preview: await reins.automations.previewFilter({ workspace_id, receipt_id, ...wants }, { signal })
      }
    ]
  })
  return (await Promise.all(tried)).flat()
}
