import { assert, describe, it } from "@effect/vitest"
import { operations, successes } from "./Document.js"

/** The operations beyond the specification that clients may count on, each with its one success. */
const promised: Readonly<Record<string, number>> = {
  "GET /api/workspaces": 200,
  "POST /api/workspaces": 201,
  "POST /api/workspaces/{workspace_id}/leave": 200,
  "GET /api/workspaces/{workspace_id}": 200,
  "PATCH /api/workspaces/{workspace_id}": 200,
  "PATCH /api/api-keys/{key_id}": 200,
  "PATCH /api/turns/{turn_id}": 200,
  "GET /api/workspaces/{workspace_id}/members": 200,
  "POST /api/workspaces/{workspace_id}/members": 202,
  "DELETE /api/workspaces/{workspace_id}/members/{account_id}": 200,
  "GET /api/workspaces/{workspace_id}/connections": 200,
  "POST /api/workspaces/{workspace_id}/connections": 201,
  "GET /api/workspaces/{workspace_id}/projects": 200,
  "POST /api/workspaces/{workspace_id}/projects": 201,
  "GET /api/projects/{project_id}/secrets": 200,
  "PUT /api/projects/{project_id}/secrets/{name}": 200,
  "DELETE /api/projects/{project_id}/secrets/{name}": 200,
  "GET /api/workspaces/{workspace_id}/sessions": 200,
  "POST /api/workspaces/{workspace_id}/sessions": 201,
  "POST /api/sessions/{session_id}/unarchives": 202,
  "DELETE /api/sessions/{session_id}": 202,
  "GET /api/sessions/{session_id}/deletion": 200,
  "GET /api/workspaces/{workspace_id}/session-deletions": 200,
  "GET /api/sessions/{session_id}/export": 200,
  "GET /api/sessions/{session_id}/shares": 200,
  "POST /api/sessions/{session_id}/shares": 201,
  "GET /api/shares/{share_id}": 200,
  "DELETE /api/shares/{share_id}": 200,
  "GET /api/shared/session": 200,
  "GET /api/shared/messages": 200,
  "GET /api/shared/changesets": 200,
  "GET /api/shared/changesets/{changeset_id}/diff": 200,
  "GET /api/shared/watermark": 200,
  "GET /api/workspaces/{workspace_id}/repository": 200,
  "GET /api/turns/{turn_id}/tool-calls": 200,
  "POST /api/interactions/{interaction_id}/claims": 201,
  "DELETE /api/workspaces/{workspace_id}": 202,
  "GET /api/workspaces/{workspace_id}/deletion": 200,
  "GET /api/workspaces/{workspace_id}/retention-preview": 200,
  "DELETE /api/projects/{project_id}": 202,
  "GET /api/projects/{project_id}/deletion": 200,
  "POST /api/auth/account-deletions": 202,
  "POST /api/sessions/{session_id}/harness-switches": 201,
  "GET /api/sessions/{session_id}/native-state": 200,
  "GET /api/sessions/{session_id}/messages": 200,
  "POST /api/sessions/{session_id}/messages": 202,
  "GET /api/sessions/{session_id}/turns": 200,
  "GET /api/sessions/{session_id}/interactions": 200,
  "POST /api/interactions/{interaction_id}/answers": 202,
  "GET /api/turns/{turn_id}": 200,
  "POST /api/turns/{turn_id}/cancellations": 202,
  "POST /api/turns/{turn_id}/retries": 202,
  "POST /api/turns/{turn_id}/acknowledgements": 202,
  "PATCH /api/me": 200,
  "GET /api/workspaces/{workspace_id}/signing-keys": 200,
  "POST /api/workspaces/{workspace_id}/signing-keys": 201,
  "DELETE /api/signing-keys/{signing_key_id}": 200,
  "GET /api/applications/{application_id}": 200,
  "POST /api/deliveries/{delivery_id}/cancellations": 202,
  "GET /api/deliveries/{delivery_id}/merge-requests": 200,
  "GET /api/merge-requests/{merge_request_id}": 200,
  "POST /api/merge-requests/{merge_request_id}/merges": 202,
  "GET /api/limits": 200,
  "GET /api/sessions/{session_id}/usage": 200,
  "GET /api/workspaces/{workspace_id}/usage": 200,
  "GET /api/workspaces/{workspace_id}/events": 200,
  "GET /api/push-key": 200,
  "GET /api/workspaces/{workspace_id}/push-subscriptions": 200,
  "POST /api/workspaces/{workspace_id}/push-subscriptions": 201,
  "DELETE /api/push-subscriptions/{push_subscription_id}": 200,
  "GET /api/workspaces/{workspace_id}/webhook-endpoints": 200,
  "POST /api/workspaces/{workspace_id}/webhook-endpoints": 201,
  "GET /api/webhook-endpoints/{webhook_endpoint_id}": 200,
  "PATCH /api/webhook-endpoints/{webhook_endpoint_id}": 200,
  "DELETE /api/webhook-endpoints/{webhook_endpoint_id}": 200,
  "POST /api/webhook-endpoints/{webhook_endpoint_id}/secret-rotations": 200,
  "POST /api/webhook-endpoints/{webhook_endpoint_id}/tests": 202,
  "POST /api/webhook-endpoints/{webhook_endpoint_id}/retries": 202,
  "GET /api/webhook-endpoints/{webhook_endpoint_id}/deliveries": 200,
  "GET /api/webhook-deliveries/{webhook_delivery_id}": 200,
  "POST /api/webhook-deliveries/{webhook_delivery_id}/retries": 202,
  "GET /api/workspaces/{workspace_id}/hooks": 200,
  "POST /api/workspaces/{workspace_id}/hooks": 201,
  "GET /api/hooks/{hook_id}": 200,
  "PATCH /api/hooks/{hook_id}": 200,
  "DELETE /api/hooks/{hook_id}": 200,
  "POST /api/hooks/{hook_id}/secret-rotations": 200,
  "GET /api/hooks/{hook_id}/receipts": 200,
  "POST /api/hook-receipts/{hook_receipt_id}/replays": 202,
  "GET /api/workspaces/{workspace_id}/automations": 200,
  "POST /api/workspaces/{workspace_id}/automations": 201,
  "GET /api/workspaces/{workspace_id}/automation-previews": 200,
  "GET /api/automations/{automation_id}": 200,
  "PATCH /api/automations/{automation_id}": 200,
  "DELETE /api/automations/{automation_id}": 200,
  "POST /api/automations/{automation_id}/pauses": 200,
  "POST /api/automations/{automation_id}/resumptions": 200,
  "GET /api/automations/{automation_id}/runs": 200,
  "POST /api/automations/{automation_id}/runs": 202,
  "GET /api/automation-runs/{automation_run_id}": 200,
  "POST /api/automation-runs/{automation_run_id}/cancellations": 202,
  "POST /api/automation-runs/{automation_run_id}/retries": 202,
  "POST /api/workspaces/{workspace_id}/harness-installations": 202,
  "GET /api/version": 200
}

describe("the document has the extension", () => {
  const byName = new Map(operations.map((operation) => [operation.name, operation]))
  for (const [name, status] of Object.entries(promised)) {
    it(`${name} with ${status}`, () => {
      const operation = byName.get(name) ?? assert.fail(`there is no ${name}`)
      assert.strictEqual(operation["x-reins-extension"], true)
      assert.deepStrictEqual(successes(operation), [status])
    })
  }

  it("and no other one", () => {
    const extensions = operations.filter((operation) => operation["x-reins-extension"] === true)
    assert.sameMembers(
      extensions.map(({ name }) => name),
      Object.keys(promised)
    )
  })
})
