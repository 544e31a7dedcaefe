import type { Harness, HarnessList } from "@reins/client"
import { useAction, useEvery } from "../api/Loading.js"
import { reins } from "../api/Server.js"
import { isOwner } from "../inbox/Workspace.js"
import { Outcome } from "../ui/Basics.js"
import { bytes } from "../words/Words.js"
import { agentLabel } from "./AgentLabel.js"

/** Installs the agent of a provider, and shows how far that is. */
export const InstallAgent = ({
  harness: { display_name, installable, installing, platforms, provider_id },
  isFirst = false,
  reload,
  workspaceId
}: {
  readonly workspaceId: string
  readonly harness: Harness
  /** True where it is the next step of the page. */
  readonly isFirst?: boolean
  /** Reads the catalog again. */
  readonly reload: () => void
}) => {
  const action = useAction()
  const isBusy = action.busy.value !== undefined
  useEvery(700, isBusy || installing !== null, reload)
  const install = () =>
    action.run(`the agent of ${display_name}`, async () => {
      const { operation } = await reins.catalog.installHarness({ workspace_id: workspaceId, provider_id })
      const job = await reins.jobs.wait(operation)
      if (job.error !== null && job.state !== "succeeded") throw new Error(job.error.message)
      reload()
    })
  if (!installable)
    return (
      <p class="fine">
        {display_name} has no build for this server. It runs on {platforms.map(inWords).join(", ")}.
      </p>
    )
  return (
    <div class="install">
      {isOwner.value ? (
        <button
          type="button"
          class={isFirst ? "primary" : "small"}
          disabled={isBusy || installing !== null}
          onClick={install}
        >
          Install {display_name}
        </button>
      ) : (
        <p class="fine">An owner of the workspace can install it.</p>
      )}
      {installing !== null && <Progress of={installing} />}
      <Outcome of={action} />
    </div>
  )
}

/** The agents that are part of Reins and off here, with the command that turns one on. */
export const AgentsOff = ({ of: { available, items } }: { readonly of: HarnessList }) => {
  const [first] = available
  if (first === undefined) return null
  return (
    <p class="fine">
      These agents are off on this server:{" "}
      {available.map((each) => agentLabel(each, [...items, ...available])).join(", ")}. The operator turns one on with{" "}
      <code>reins harnesses enable {first.provider_id}</code> and starts it anew. Then you can install it here.
    </p>
  )
}

const names = { linux: "Linux", darwin: "macOS", win32: "Windows" }

const inWords = ({ cpu, libc, os }: Harness["platforms"][number]): string =>
  `${names[os]} on ${cpu}${libc === null ? "" : ` with ${libc}`}`

const Progress = ({
  of: { downloaded_bytes, package: name, packages_done, packages_total, total_bytes }
}: {
  readonly of: NonNullable<Harness["installing"]>
}) => {
  const part = total_bytes === null || total_bytes === 0 ? 0 : downloaded_bytes / total_bytes
  const words = `${name}: ${bytes(downloaded_bytes)}${total_bytes === null ? "" : ` of ${bytes(total_bytes)}`}`
  return (
    <p class="spent" role="status">
      <progress max={packages_total} value={packages_done + part} aria-label="Progress of the installation" />
      <span>
        package {Math.min(packages_done + 1, packages_total)} of {packages_total} <span class="fine">{words}</span>
      </span>
    </p>
  )
}
