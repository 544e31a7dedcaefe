import { HttpApiGroup } from "@effect/platform"
import {
  extension,
  idPath,
  optional,
  patch,
  post,
  read,
  remove,
  SecretAnswer,
  withStatus
} from "@reins/base/domain/Endpoint"
import { field } from "@reins/base/domain/Field"
import { ConnectionId } from "@reins/base/domain/Ids"
import { Page } from "@reins/base/domain/Page"
import { pageFields } from "@reins/base/domain/Query"
import { hookOccasions } from "@reins/machine/forge/Forge"
import { Schema } from "effect"
import { Hook, HookKind, HookLabel, HookOccasions, HookReceipt, HookState, HookWithSecret } from "./Hook.js"

export const HookInput = Schema.Struct({
  kind: field(HookKind, "What proves a call."),
  label: field(HookLabel, "What it is for, at most 200 characters.")
}).annotations({ identifier: "HookInput", description: "A hook to be." })
export type HookInput = typeof HookInput.Type

export const HookPatch = Schema.Struct({
  label: field(optional(HookLabel), "What it is for, at most 200 characters."),
  state: field(optional(HookState), "Calls of a disabled hook are answered as if it were not there.")
}).annotations({ identifier: "HookPatch", description: "What is to change. Absent fields stay as they are." })
export type HookPatch = typeof HookPatch.Type

export const HookRotationInput = Schema.Struct({
  overlap_seconds: field(
    optional(Schema.Int.pipe(Schema.between(0, 604_800))),
    "How long the old secret is good too, so that the caller can be changed; a day when absent."
  )
}).annotations({ identifier: "HookRotationInput", description: "A new secret for a hook." })
export type HookRotationInput = typeof HookRotationInput.Type

export const HookRegistrationInput = Schema.Struct({
  connection_id: field(
    ConnectionId,
    "The connection to the forge, of the kind of the hook. Its token has to manage webhooks."
  ),
  repository: field(
    Schema.String.pipe(Schema.minLength(1), Schema.maxLength(2000)),
    "The URL of the repository, as sessions take it."
  ),
  occasions: field(
    optional(Schema.NonEmptyArray(HookOccasions).pipe(Schema.maxItems(hookOccasions.length))),
    "The occasions on which the forge is to call; all when absent."
  )
}).annotations({ identifier: "HookRegistrationInput", description: "Where a forge is to make the hook." })
export type HookRegistrationInput = typeof HookRegistrationInput.Type

const workspace = idPath("workspace_id")
const hook = idPath("hook_id")

/** The endpoints of whoever manages hooks. The address that the world calls is a route of the server. */
export class HooksApi extends HttpApiGroup.make("hooks")
  .add(
    read("list", "/api/workspaces/:workspace_id/hooks", "List the hooks of a workspace, newest first", "admin")
      .setPath(workspace)
      .setUrlParams(Schema.Struct(pageFields))
      .addSuccess(Page("HookList", Hook))
      .annotateContext(extension)
  )
  .add(
    post("create", "/api/workspaces/:workspace_id/hooks", "Make a hook that the world can call", "admin")
      .setPath(workspace)
      .setPayload(HookInput)
      .addSuccess(withStatus(HookWithSecret, 201))
      .annotateContext(extension)
      .annotate(SecretAnswer, true)
  )
  .add(
    read("get", "/api/hooks/:hook_id", "Read a hook", "admin").setPath(hook).addSuccess(Hook).annotateContext(extension)
  )
  .add(
    patch("update", "/api/hooks/:hook_id", "Change a hook", "admin")
      .setPath(hook)
      .setPayload(HookPatch)
      .addSuccess(Hook)
      .annotateContext(extension)
  )
  .add(
    remove("remove", "/api/hooks/:hook_id", "Remove a hook, and pause the automations that it rings", "admin")
      .setPath(hook)
      .addSuccess(Hook)
      .annotateContext(extension)
  )
  .add(
    post("rotateSecret", "/api/hooks/:hook_id/secret-rotations", "Replace the secret of a hook", "admin")
      .setPath(hook)
      .setPayload(HookRotationInput)
      .addSuccess(HookWithSecret)
      .annotateContext(extension)
      .annotate(SecretAnswer, true)
  )
  .add(
    post("register", "/api/hooks/:hook_id/registrations", "Have the forge make the hook, or change it there", "admin")
      .setPath(hook)
      .setPayload(HookRegistrationInput)
      .addSuccess(withStatus(Hook, 202))
      .annotateContext(extension)
  )
  .add(
    remove("removeRegistration", "/api/hooks/:hook_id/registrations", "Have the forge forget the hook", "admin")
      .setPath(hook)
      .addSuccess(Hook)
      .annotateContext(extension)
  )
  .add(
    read("listReceipts", "/api/hooks/:hook_id/receipts", "List what came in during 7 days, newest first", "admin")
      .setPath(hook)
      .setUrlParams(Schema.Struct(pageFields))
      .addSuccess(Page("HookReceiptList", HookReceipt))
      .annotateContext(extension)
  )
  .add(
    post(
      "replayReceipt",
      "/api/hook-receipts/:hook_receipt_id/replays",
      "Ring again with what came in; an automation that has a run of it gets no second one",
      "admin"
    )
      .setPath(idPath("hook_receipt_id"))
      .addSuccess(withStatus(HookReceipt, 202))
      .annotateContext(extension)
  ) {}
