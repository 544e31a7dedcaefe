import { useSignal } from "@preact/signals"
import type { Hook, HookReceipt, HookWithSecret } from "@reins/client"
import { useAction, useEvery, useLoaded } from "../api/Loading.js"
import { forPeople } from "../api/Sentences.js"
import { reins, wholeOf } from "../api/Server.js"
import { Await, Outcome, State, Time } from "../ui/Basics.js"
import { Confirm } from "../ui/Confirm.js"
import { count } from "../words/Words.js"
import { hookKinds, MadeHook } from "./HookFields.js"
import { ReceiptTry } from "./ReceiptTry.js"

/** The hooks of a workspace, for its owners. Nothing is shown while there is none. */
export const HookList = ({ workspaceId: workspace_id }: { readonly workspaceId: string }) => {
  const list = useLoaded("the hooks", (signal) => wholeOf(reins.hooks.list({ workspace_id, limit: 100 }, { signal })), [
    workspace_id
  ])
  useEvery(5000, true, list.reload)
  return (
    <Await of={list}>
      {({ items }) =>
        items.length === 0 ? null : (
          <section aria-label="Hooks">
            <h2>Hooks</h2>
            <p class="fine">The addresses that others call to begin work here.</p>
            <ul class="cards">
              {items.map((hook) => (
                <HookCard key={hook.id} hook={hook} reload={list.reload} />
              ))}
            </ul>
          </section>
        )
      }
    </Await>
  )
}

const HookCard = ({ hook, reload }: { readonly hook: Hook; readonly reload: () => void }) => {
  const { id: hook_id, kind, label, last_received_at, registration, state } = hook
  const isOpen = useSignal(false)
  const made = useSignal<HookWithSecret | undefined>(undefined)
  const action = useAction()
  const act = (doing: string, work: () => Promise<unknown>) => () =>
    action.run(doing, async () => {
      await work()
      reload()
    })
  const turned = state === "enabled" ? ("disabled" as const) : ("enabled" as const)
  return (
    <li>
      <div class="section-head">
        <h3>{label}</h3>
        <State of={state} />
      </div>
      <p class="fine">
        Called by {hookKinds[kind].name}
        {last_received_at !== null && (
          <>
            {" · last "}
            <Time at={last_received_at} />
          </>
        )}
      </p>
      {registration !== null && (
        <p>
          On its forge: {registration.state}. {forPeople(registration.reason_message ?? "")}
        </p>
      )}
      {made.value !== undefined && <MadeHook hook={made.value} />}
      <div class="actions">
        <button type="button" class="small" aria-expanded={isOpen.value} onClick={() => (isOpen.value = !isOpen.value)}>
          What came in
        </button>
        <button
          type="button"
          class="small"
          onClick={act("the new secret", async () => {
            made.value = await reins.hooks.rotateSecret({ hook_id })
          })}
        >
          New secret
        </button>
        <button
          type="button"
          class="small"
          onClick={act("the change", () => reins.hooks.update({ hook_id, state: turned }))}
        >
          {state === "enabled" ? "Disable" : "Enable"}
        </button>
        <Confirm
          act={act("the removal", () => reins.hooks.remove({ hook_id }))}
          ask="Automations that it begins are paused. Remove it?"
        >
          Remove
        </Confirm>
      </div>
      <Outcome of={action} />
      {isOpen.value && <Receipts hook={hook} />}
    </li>
  )
}

const Receipts = ({ hook: { id: hook_id, last_received_at, workspace_id } }: { readonly hook: Hook }) => {
  const list = useLoaded("what came in", (signal) => reins.hooks.listReceipts({ hook_id, limit: 20 }, { signal }), [
    hook_id,
    last_received_at
  ])
  return (
    <Await of={list}>
      {({ items }) =>
        items.length === 0 ? (
          <p class="fine">Nothing has come in during the last 7 days.</p>
        ) : (
          <ul class="receipts" aria-label="What came in, the newest first">
            {items.map((receipt) => (
              <Receipt key={receipt.id} receipt={receipt} workspaceId={workspace_id} reload={list.reload} />
            ))}
          </ul>
        )
      }
    </Await>
  )
}

const Receipt = ({
  receipt,
  reload,
  workspaceId
}: {
  readonly receipt: HookReceipt
  readonly workspaceId: string
  readonly reload: () => void
}) => {
  const { created_at, event, hook_id, id, outcome, reason_message, replayable, runs } = receipt
  const isTried = useSignal(false)
  const action = useAction()
  const replay = () =>
    action.run("the replay", async () => {
      await reins.hooks.replayReceipt({ hook_receipt_id: id })
      reload()
    })
  return (
    <li>
      <div class="row-line">
        <span>{event ?? "a call"}</span>
        <State of={outcome} />
        <span class="fine">
          {count(runs, "run")} · <Time at={created_at} />
        </span>
        {replayable && (
          <span class="actions">
            <button
              type="button"
              class="small"
              aria-expanded={isTried.value}
              onClick={() => (isTried.value = !isTried.value)}
            >
              Try
            </button>
            <button type="button" class="small" disabled={action.busy.value !== undefined} onClick={replay}>
              Replay
            </button>
          </span>
        )}
      </div>
      {reason_message !== null && <p class="fine">{reason_message}</p>}
      <Outcome of={action} />
      {isTried.value && <ReceiptTry hookId={hook_id} receiptId={id} workspaceId={workspaceId} />}
    </li>
  )
}
