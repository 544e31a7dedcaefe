import type * as acp from "@agentclientprotocol/sdk"
import type { InteractionOption } from "../../domain/Interaction.js"
import type { Asked, HarnessEvent } from "../HarnessEvent.js"
import type { PermissionRequest } from "./AcpSchema.js"
import type { AcpSettings } from "./AcpSettings.js"

const titleLength = 1000
const descriptionLength = 4000

const approvalKinds: ReadonlySet<string> = new Set(["allow_once", "allow_always", "reject_once", "reject_always"])

/** True for an answer that refuses: an option that rejects, or none. */
export const isRefusal = ({ options }: PermissionRequest, id: string | null): boolean =>
  options.find(({ optionId }) => optionId === id)?.kind.startsWith("reject") ?? true

/** The option that the manifest chooses when nobody is asked. Null when the agent offers none of its kinds. */
export const chosenBy = (settings: AcpSettings, { options }: PermissionRequest): string | null =>
  settings.permission_answer.flatMap((kind) => options.filter((option) => option.kind === kind))[0]?.optionId ?? null

/** The question for a person. `about` holds the known facts of its tool call. */
export const asked = (requestId: string, { options }: PermissionRequest, about: ReadonlyArray<HarnessEvent>): Asked => {
  const call = about.find((event) => event._tag === "tool")
  const input = call === undefined || call.input === null ? undefined : JSON.stringify(call.input)
  const [refusal] = ["reject_once", "reject_always"].flatMap((kind) => options.filter((option) => option.kind === kind))
  return {
    _tag: "asked",
    request_id: requestId,
    kind: options.every(({ kind }) => approvalKinds.has(kind)) ? "approval" : "question",
    title: (call?.title ?? "The agent asks").slice(0, titleLength),
    description: input?.slice(0, descriptionLength) ?? null,
    tool_id: call?.tool_id ?? null,
    options: options.map(
      ({ kind, name, optionId }): InteractionOption => ({ id: optionId, name: name ?? optionId, kind })
    ),
    default: refusal?.optionId ?? null
  }
}

/** The answer to the agent. */
export const outcome = (optionId: string | null): { readonly result: acp.RequestPermissionResponse } => ({
  result: { outcome: optionId === null ? { outcome: "cancelled" } : { outcome: "selected", optionId } }
})
