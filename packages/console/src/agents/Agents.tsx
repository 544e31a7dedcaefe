import { useSignal } from "@preact/signals"
import type { AvailableHarness, CatalogInstallHarnessInput, Harness, HarnessList } from "@reins/client"
import { type Action, useAction, useEvery } from "../api/Loading.js"
import { reins } from "../api/Server.js"
import { isOwner } from "../inbox/Workspace.js"
import { Outcome } from "../ui/Basics.js"
import { bytes, count } from "../words/Words.js"
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
    action.run(`the agent of ${display_name}`, () => installed({ workspace_id: workspaceId, provider_id }, reload))
  if (!installable) return <NotForHere name={display_name} platforms={platforms} />
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

/** Has an agent installed, and waits until it is. */
const installed = async (input: CatalogInstallHarnessInput, reload: () => void): Promise<void> => {
  const { operation } = await reins.catalog.installHarness(input)
  // An agent that was enabled is in the list from now on, with its progress.
  reload()
  const job = await reins.jobs.wait(operation)
  if (job.error !== null && job.state !== "succeeded") throw new Error(job.error.message)
  reload()
}

const NotForHere = ({ name, platforms }: { readonly name: string; readonly platforms: Harness["platforms"] }) => (
  <p class="fine">
    {name} has no build for this server. It runs on {platforms.map(inWords).join(", ")}.
  </p>
)

/** The agents that are part of Reins and off here, each with the button or the command that turns it on. */
export const AgentsOff = ({
  of: { available, enabled_by, items },
  reload,
  workspaceId
}: {
  readonly of: HarnessList
  readonly workspaceId: string
  /** Reads the catalog again. */
  readonly reload: () => void
}) => {
  const action = useAction()
  useEvery(700, action.busy.value !== undefined, reload)
  const [first] = available
  if (first === undefined) return <Outcome of={action} />
  const labelOf = (each: AvailableHarness) => agentLabel(each, [...items, ...available])
  const mayEnable = enabled_by === "owners" && isOwner.value
  return (
    <details class="agents-off">
      <summary>
        {count(available.length, "more agent")} {available.length === 1 ? "is" : "are"} off on this server
      </summary>
      {mayEnable ? (
        <ul class="cards">
          {available.map((each) => (
            <AgentOff
              key={each.provider_id}
              agent={each}
              label={labelOf(each)}
              action={action}
              enable={(accepted) =>
                installed(
                  {
                    workspace_id: workspaceId,
                    provider_id: each.provider_id,
                    enable: true,
                    ...(accepted && each.license !== null && { accept_license: each.license })
                  },
                  reload
                )
              }
            />
          ))}
        </ul>
      ) : (
        <p class="fine">
          {available.map(labelOf).join(", ")}.{" "}
          {enabled_by === "owners" ? (
            "An owner of the workspace can turn one on here."
          ) : (
            <>
              The operator turns one on with <code>reins harnesses enable {first.provider_id}</code>. Then an owner can
              install it here.
            </>
          )}
        </p>
      )}
      <Outcome of={action} />
    </details>
  )
}

const AgentOff = ({
  action,
  agent: { display_name, installable, license, license_asked, platforms, provider_id, version },
  enable,
  label
}: {
  readonly agent: AvailableHarness
  readonly label: string
  readonly action: Action
  /** Turns it on and installs it. `accepted` is true for a licence that was accepted. */
  readonly enable: (accepted: boolean) => Promise<void>
}) => {
  const isAccepted = useSignal(!license_asked)
  return (
    <li>
      <div class="section-head">
        <h3>
          {label} <code>{provider_id}</code>
        </h3>
        <span class="fine">{version}</span>
      </div>
      {!installable ? (
        <NotForHere name={display_name} platforms={platforms} />
      ) : (
        <>
          {license_asked ? (
            <label class="check">
              <input
                type="checkbox"
                checked={isAccepted.value}
                onInput={({ currentTarget }) => {
                  isAccepted.value = currentTarget.checked
                }}
              />{" "}
              I have read its licence ({license}) and may use it.
            </label>
          ) : (
            <p class="fine">Licence: {license ?? "not known"}.</p>
          )}
          <button
            type="button"
            class="small"
            disabled={!isAccepted.value || action.busy.value !== undefined}
            onClick={() => action.run(`turning on ${label}`, () => enable(license_asked))}
          >
            Enable and install {label}
          </button>
        </>
      )}
    </li>
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
