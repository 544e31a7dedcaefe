import type * as acp from "@agentclientprotocol/sdk/unstable"
import type { ApprovalSubject } from "@reins/base/domain/ApprovalSubject"
import type { InteractionOption } from "@reins/base/domain/Form"
import type { Asked, Tool } from "../HarnessEvent.js"
import { type Permission, type PermissionPolicy, permissionFor } from "../Permissions.js"
import type { PermissionRequest } from "./AcpSchema.js"
import type { AcpSettings } from "./AcpSettings.js"
import { shownCall } from "./ShownCall.js"

const approvalKinds: ReadonlySet<string> = new Set(["allow_once", "allow_always", "reject_once", "reject_always"])

type Kinds = AcpSettings["permission_answer"]

/** The kinds of option that a policy takes. Leave that was given for good would outlive a change of the policy, so it comes last. */
const kindsFor: Readonly<Record<Exclude<Permission, "ask">, Kinds>> = {
  allow: ["allow_once", "allow_always"],
  deny: ["reject_once", "reject_always"]
}

/** True for an answer that refuses: an option that rejects, or none. */
export const isRefusal = ({ options }: PermissionRequest, id: string | null): boolean =>
  options.find(({ optionId }) => optionId === id)?.kind.startsWith("reject") ?? true

const firstOf = (kinds: Kinds, { options }: PermissionRequest): string | null =>
  kinds.flatMap((kind) => options.filter((option) => option.kind === kind))[0]?.optionId ?? null

/** True where every option allows or rejects. Anything else is a question, which no policy answers. */
const isApproval = ({ options }: PermissionRequest): boolean => options.every(({ kind }) => approvalKinds.has(kind))

/**
 * The option that is taken without asking anybody; null for none of them, and undefined where a person is to be asked. Without a policy the
 * manifest chooses where nobody can be asked. With one, what nobody can be asked for is refused.
 */
export const decided = (
  settings: AcpSettings,
  request: PermissionRequest,
  given: { readonly kind: string; readonly policy: PermissionPolicy | null; readonly canAsk: boolean }
): string | null | undefined => {
  const { canAsk, kind, policy } = given
  if (canAsk && request.options.length > 0 && (policy === null || !isApproval(request))) return undefined
  if (policy === null) return firstOf(settings.permission_answer, request)
  const permission = permissionFor(policy, kind)
  if (permission === "ask") return canAsk ? undefined : firstOf(kindsFor.deny, request)
  return firstOf(kindsFor[permission], request)
}

/** The question for a person. `call` has what is known of its tool call, and `subject` is made of it. */
export const permissionQuestion = (
  requestId: string,
  request: PermissionRequest,
  call: Tool | undefined,
  subject: ApprovalSubject
): Asked => {
  const kind = isApproval(request) ? "approval" : "question"
  return {
    _tag: "asked",
    request_id: requestId,
    kind,
    ...shownCall(kind, call, request.toolCall),
    subject: kind === "approval" ? subject : null,
    tool_id: call?.tool_id ?? null,
    options: request.options.map(
      ({ kind, name, optionId }): InteractionOption => ({ id: optionId, name: name ?? optionId, kind })
    ),
    form: null,
    url: null,
    default: firstOf(kindsFor.deny, request)
  }
}

/** The answer to the agent. */
export const permissionResponse = (optionId: string | null): { readonly result: acp.RequestPermissionResponse } => ({
  result: { outcome: optionId === null ? { outcome: "cancelled" } : { outcome: "selected", optionId } }
})
