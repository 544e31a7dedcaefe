import "../styles/automations.css"
import { useSignal } from "@preact/signals"
import type { Automation } from "@reins/client"
import { useEvery, usePages } from "../api/Loading.js"
import { reins } from "../api/Server.js"
import { isOwner, mayWrite } from "../inbox/Workspace.js"
import { Await, Nothing, PageHead } from "../ui/Basics.js"
import { Dialog } from "../ui/Dialog.js"
import { More } from "../ui/More.js"
import { AutomationCard } from "./AutomationCard.js"
import { AutomationForm } from "./AutomationForm.js"
import { HookList } from "./HookList.js"

/** The work of the workspace that begins by itself: when it comes next, and how its runs have ended. */
export const AutomationsPage = ({ workspaceId }: { readonly workspaceId: string }) => {
  const list = usePages(
    "the automations",
    (cursor, signal) =>
      reins.automations.list(
        { workspace_id: workspaceId, limit: 100, ...(cursor !== undefined && { cursor }) },
        { signal }
      ),
    [workspaceId]
  )
  const open = useSignal<{ readonly automation?: Automation } | undefined>(undefined)
  useEvery(5000, true, list.reload)
  const close = () => {
    open.value = undefined
    list.reload()
  }
  const changing = open.value?.automation
  return (
    <>
      <PageHead
        title="Automations"
        under="Work that begins by itself: at its times, after an event, or when somebody calls."
      >
        {mayWrite.value && (
          <button type="button" class="primary" onClick={() => (open.value = {})}>
            New automation
          </button>
        )}
      </PageHead>
      <Await of={list}>
        {({ items }) =>
          items.length === 0 ? (
            <Nothing>
              There is no automation. Make one for work that comes again, or that an event or a call begins.
            </Nothing>
          ) : (
            <ul class="cards">
              {items.map((each) => (
                <AutomationCard
                  key={each.id}
                  automation={each}
                  reload={list.reload}
                  change={() => (open.value = { automation: each })}
                />
              ))}
            </ul>
          )
        }
      </Await>
      <More of={list} />
      {isOwner.value && <HookList workspaceId={workspaceId} />}
      {open.value !== undefined && (
        <Dialog title={changing === undefined ? "New automation" : `Change ${changing.name}`} close={close}>
          <AutomationForm workspaceId={workspaceId} automation={changing} done={close} />
        </Dialog>
      )}
    </>
  )
}
